"""One trial of a schedule, and two side by side: compile, check against a reference, time. Runs in a child process.

A spec is plain data, made by `spec(trace, options)`. Results are plain data too. What was compiled and computed stays
in the process: the next trial of the same trace, or of the same expression, has it at hand.
"""

from __future__ import annotations

import json
import pickle
import time
import warnings
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from ..core import packed
from ..core.error import CallError, LabError
from ..core.node import Call
from ..core.walk import walk
from ..expr.tensor import Tensor
from ..runtime import host, measure
from ..runtime.device import DeviceError
from ..runtime.gpu.errors import NO_TIMES
from ..runtime.module import Module
from ..schedule import identity
from ..schedule.trace import Trace
from . import inputs
from .api import build, lower
from .check import Difference, additions, difference, tolerance
from .handle import Schedule
from .inputs import Sized
from .options import Options, cores, options
from .oracle import baseline, expected, operations
from .oracle import flops as arithmetic
from .verdict import arguments
from .writers import writers

Report = Callable[[Any], None]
fingerprint = identity.of  # the same for traces that compile to the same
PACKAGE = __name__.split(".", 1)[0]
KEPT = 64  # modules
FEW = 3  # repeats, from which on a median says something
NAIVE_SHARE = 0.1  # of the limit that the unscheduled program may take
NOTHING_BESIDE: Mapping[str, Any] = {"baseline": None, "baseline_name": "", "naive": None}
UNTIMED: Mapping[str, Any] = {  # what runs there is checked: no time of it would mean anything, nor one beside it
    "seconds": None, "spread": None, "times": [], "number": 0, "gflops": None, "untimed": "simulator", **NOTHING_BESIDE,
}  # fmt: skip


# ---------------------------------------------------------------- asking


def spec(
    trace: Trace, chosen: Options, given: Mapping[str, Any] | None = None, args: Sequence[Any] | None = None
) -> dict[str, Any]:
    """What the child needs; refused here is what cannot be sent, and arrays that do not fit.

    `given`: a person's arrays by name, used if `chosen.inputs` says so. `args`: the order of the arguments.
    """
    if chosen.inputs == "given" and given is None:
        raise CallError("no-arrays", "no arrays were given", hint='lab.runs.give({"A": a, "B": b})')
    arrays = None
    if chosen.inputs == "given":
        found = inputs.sized(trace, given)
        assert given is not None
        arrays = {t.name: inputs.array_of(t, given[t.name]) for t in found.inputs}
        arrays |= {v.name: n for v, n in found.numbers.items() if v.name in given}
    text = trace.to_json()
    return {
        "trace": text, "key": fingerprint(trace), "start": fingerprint(trace.prefix(0)),
        "options": chosen.to_json(), "given": arrays,
        "packed": _functions(trace) if '"packed"' in text else {},  # lowering takes a while, and adds no such call
        "args": inputs.places(trace, args),
    }  # fmt: skip


def _functions(trace: Trace) -> dict[str, bytes]:
    """The packed functions that the program calls: by the place where each is defined, which the child imports."""
    program = lower(Schedule(trace), arguments(trace))
    called = {n.name for n in walk(program.body) if isinstance(n, Call) and n.kind == "packed"}
    return {name: _by_place(name) for name in sorted(called.intersection(packed.names()))}


def _by_place(name: str) -> bytes:
    f = packed.get(name)
    module = getattr(f, "__module__", None) or ""
    try:
        if module == "__main__":
            raise pickle.PicklingError
        return pickle.dumps(f)
    except (pickle.PicklingError, AttributeError, TypeError):
        if module.startswith(f"{PACKAGE}."):  # one of ours: importing the module registers it
            return pickle.dumps(module)
        raise LabError(
            "function-of-this-process",
            f"this program calls `{name}`, a function of this notebook, and runs happen in another process",
            hint="put it into a file, import it from there, and register it again",
        ) from None


# ---------------------------------------------------------------- getting ready


@dataclass
class Ready:
    """A compiled trace with its arrays in place. `call`: one run."""

    trace: Trace
    args: Sized
    chosen: Options
    module: Module
    compile: float
    values: dict[Any, Any]
    call: Callable[[], Any]
    arguments: list[Any]  # of it, in order
    where: dict[Tensor, Any]  # index arrays of tensors whose layout was transformed
    given: dict[Tensor, Any]  # the inputs, in the layouts that the expression has

    def output(self, t: Tensor) -> Any:
        """A result, in the layout that the expression has."""
        return self.values[t][self.where[t]] if t in self.where else self.values[t]


_modules: OrderedDict[tuple[str, ...], tuple[Trace, Module, float]] = OrderedDict()


def compiled(asked: Mapping[str, Any], chosen: Options) -> tuple[Trace, Module, float]:
    """The module of a trace for a target, and the seconds it took to compile (when it was)."""
    key = (asked["key"], chosen.target, str(chosen.threads), json.dumps(asked["args"]))  # a module has its thread count
    found = _modules.get(key)
    if found is not None:
        _modules.move_to_end(key)
        return found
    for name, place in asked["packed"].items():
        found_there = pickle.loads(place)
        if isinstance(found_there, str):
            import_module(found_there)
        else:
            packed.register(name, found_there, override=True)
    trace = Trace.from_json(asked["trace"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.perf_counter()
        module = build(Schedule(trace), inputs.ordered(trace, asked["args"]), chosen.target)
        took = time.perf_counter() - start
    _modules[key] = trace, module, took
    while len(_modules) > KEPT:
        _modules.popitem(last=False)
    return trace, module, took


def ready(asked: Mapping[str, Any], report: Report, beside: Ready | None = None) -> Ready:
    """Compile, and put the arrays in place: those of `beside` where they fit, since where an array lies moves times."""
    chosen = options(asked["options"])
    report({"state": "compiling", "progress": 0.02})
    trace, module, took = compiled(asked, chosen)
    given = asked["given"]
    args = inputs.sized(trace, given, chosen.sizes, inputs.ordered(trace, asked["args"]))
    arrays = _given(args, given) if given is not None else inputs.random(trace, args, chosen.seed)
    values: dict[Any, Any] = {**args.numbers}
    where: dict[Tensor, Any] = {}
    for t in (*args.inputs, *args.outputs):
        moved = inputs.physical(trace, t, args.shapes[t])
        own = arrays.get(t)
        if moved is None:
            shared = _shared(beside, t, args.shapes[t])
            values[t] = shared if shared is not None else inputs.fresh(t, args.shapes[t]) if own is None else own
            continue
        shape, place = moved
        where[t] = tuple(place)
        values[t] = inputs.fresh(t, shape)
        if own is not None:
            values[t][where[t]] = own
    _set_threads(module, chosen.threads)
    order = [values[x] for x in args.order]
    return Ready(trace, args, chosen, module, took, values, module.runner(*order), order, where, arrays)


def _given(args: Sized, given: Mapping[str, Any]) -> dict[Tensor, Any]:
    return {t: inputs.settled(given[t.name], given[t.name].dtype) for t in args.inputs}


def _shared(beside: Ready | None, t: Tensor, shape: tuple[int, ...]) -> Any:
    """The array of the tensor of the same name there, in the expression's own layout."""
    if beside is None:
        return None
    same = (x for x in beside.args.order if isinstance(x, Tensor) and x.name == t.name and x.dtype == t.dtype)
    found = next((x for x in same if x not in beside.where and beside.args.shapes[x] == shape), None)
    return None if found is None else beside.values[found]


def _set_threads(module: Module, threads: int) -> None:
    """That many threads, where the module has parallel loops."""
    if "set_num_threads" in module.compiled.extra:
        module.set_num_threads(threads or cores())


# ---------------------------------------------------------------- one trial


def measure_one(asked: Mapping[str, Any], report: Report) -> dict[str, Any]:
    """Compile, check and time one trace."""
    it = ready(asked, report)
    report({"state": "checking", "progress": 0.2, "size": it.args.text})
    made = checked(asked, it)
    report({"state": "running", "progress": 0.4})
    share, said = 1e-3 * it.chosen.min_ms, _share(report, 0.4, 0.8)
    made |= {
        "compile": it.compile, "size": it.args.text, "threads": it.chosen.threads or cores(),
        "machine": host.description(),
    }  # fmt: skip
    try:
        with it.module.clocked(*it.arguments) as clock:
            times, number = timed(clock, it.chosen.repeats, share, it.chosen.limit * 0.5, said, it.chosen.enough)
    except DeviceError as e:
        if e.rule != NO_TIMES:
            raise
        return {**made, **UNTIMED}
    result = measure.BenchmarkResult(tuple(times), number)
    work = arithmetic(operations(it.trace), it.args.numbers)
    made |= {
        "seconds": result.median, "spread": result.iqr, "times": times, "number": number, "untimed": "",
        "gflops": work / result.median / 1e9 if work and result.median > 0 else None,
    }  # fmt: skip
    report({"state": "running", "progress": 0.8})
    return made | beside(asked, it)


def _share(report: Report, low: float, high: float) -> Callable[[float], None]:
    return lambda part: report({"state": "running", "progress": low + (high - low) * part})


def timed(
    clock: measure.Clock,
    repeats: int,
    at_least: float,
    budget: float,
    progress: Callable[[float], None] = lambda part: None,
    enough: float = float("inf"),
    agree: float = 0.0,
    before: Callable[[], Any] | None = None,
) -> tuple[list[float], int]:
    """Seconds per run, one mean per repeat of runs that last `at_least` seconds together. `clock(n)`: of `n` runs.

    Fewer repeats where they do not fit into the budget (at least one), where `FEW` have taken `enough` seconds, or
    where that many have quartiles closer than the part `agree` of the median. `before`: what is done before each
    repeat, off the clock; each is then one run.
    """
    start = time.perf_counter()
    first = clock(1)
    number = _runs(at_least, first) if before is None else 1
    if number > 1:
        number = _runs(at_least, clock(number) / number)  # the first run finds caches cold
    times: list[float] = []
    said = start
    with measure.no_garbage_collection():
        for k in range(repeats):
            gone = time.perf_counter() - start
            if times and gone > budget or len(times) >= FEW and (gone > enough or _agree(times, agree)):
                break
            if before is not None:
                before()
            times.append(clock(number) / number)
            if time.perf_counter() - said > 0.1:
                progress((k + 1) / repeats)
                said = time.perf_counter()
    return times, number


def _runs(at_least: float, one: float) -> int:
    return max(1, min(1_000_000, int(at_least / max(one, 1e-9))))


def _agree(times: list[float], part: float) -> bool:
    result = measure.BenchmarkResult(tuple(times))
    return part > 0 and result.iqr < part * result.median


# ---------------------------------------------------------------- checking


def checked(asked: Mapping[str, Any], it: Ready) -> dict[str, Any]:
    """Run once, and compare with what the expression must give."""
    it.call()
    if not it.chosen.check:
        return {"check": "skipped", "worst": "", "wrong": None, "reference": ""}
    want, who = expected(asked, it.trace, it.args, it.chosen, it.given)
    if want is None:
        return {"check": "skipped", "worst": f"not checked: {who}", "wrong": None, "reference": ""}
    ops = operations(it.trace)
    count = additions(ops, it.args.numbers)
    found = [_difference(t, it.output(t), want[t], count, len(ops), it.chosen) for t in it.args.outputs]
    bad = next((d for d in found if d.count), None)
    worst = max(found, key=lambda d: d.share).worst
    return {
        "check": "wrong" if bad else "ok", "worst": f"{worst}; reference: {who}", "reference": who,
        "wrong": None if bad is None else _wrong(it, bad, want),
    }  # fmt: skip


def _difference(t: Tensor, got: Any, want: Any, count: int, depth: int, chosen: Options) -> Difference:
    finite = np.abs(want[np.isfinite(want)]) if want.dtype.kind == "f" else np.zeros(0)
    allowed = tolerance(t.dtype, count, depth, chosen.rtol, chosen.atol, float(finite.max(initial=0.0)))
    return difference(t.name, got, want, allowed)


def _wrong(it: Ready, bad: Difference, want: Mapping[Tensor, Any]) -> dict[str, Any]:
    """The first wrong element, and the iterations that write it."""
    tensor = next(t for t in it.args.outputs if t.name == bad.tensor)
    index = bad.index or ()
    who, note = _writers(it, tensor, index)
    total = want[tensor].size
    share = f"{bad.count} of {total} elements differ"
    return {
        "tensor": bad.tensor, "index": list(index), "got": bad.got, "expected": bad.expected, "count": bad.count,
        "writers": who, "note": f"{share}; {note}" if note else share,
    }  # fmt: skip


def _writers(it: Ready, tensor: Tensor, index: tuple[int, ...]) -> tuple[list[str], str]:
    order = list(it.args.order)
    program = lower(Schedule(it.trace), order, simple_mode=True)
    if tensor in it.where:
        index = tuple(int(part[index]) for part in it.where[tensor])
    sizes = {v.name: n for v, n in it.args.numbers.items() if isinstance(n, int)}
    try:
        return writers(program.entry, next(k for k, x in enumerate(order) if x is tensor), index, sizes)
    except RecursionError:
        return [], "the loops are nested too deeply to say which iterations wrote it"


# ---------------------------------------------------------------- beside it


_beside: OrderedDict[Any, dict[str, Any]] = OrderedDict()


def beside(asked: Mapping[str, Any], it: Ready) -> dict[str, Any]:
    """The library's time, and that of the program nobody scheduled; once per expression, size and target."""
    if not it.chosen.baseline:
        return {**NOTHING_BESIDE}
    key = (asked["start"], it.chosen.target, it.args.text, it.chosen.threads)
    found = _beside.setdefault(key, {})
    if "baseline" not in found:
        found |= {**NOTHING_BESIDE, **_library(it)}
        del found["naive"]
    if "naive" not in found and len(it.trace):  # without steps it is the naive one itself
        found["naive"] = _naive(asked, it)
    while len(_beside) > KEPT:
        _beside.popitem(last=False)
    return {**NOTHING_BESIDE, **found}


def _library(it: Ready) -> dict[str, Any]:
    found = baseline(it.trace, it.args, it.chosen, it.given)
    if found is None:
        return {}
    call, name = found
    try:
        times, _ = timed(lambda n: measure.seconds(call, n), 7, 2e-3, it.chosen.limit * NAIVE_SHARE, enough=0.5)
    except (MemoryError, LabError, ValueError, TypeError):
        return {}
    return {"baseline": float(np.median(times)), "baseline_name": name}


def _naive(asked: Mapping[str, Any], it: Ready) -> float | None:
    """Seconds of the unscheduled program; None where that would take too long."""
    budget = it.chosen.limit * NAIVE_SHARE
    work = arithmetic(operations(it.trace), it.args.numbers) or 0
    speed = 2e6 if it.chosen.target.startswith("interp") else 2e8  # operations a second that even a slow one reaches
    if work / speed > budget or it.module.on_device:  # nothing of it is bound to threads there
        return None
    start = {**asked, "key": asked["start"], "trace": it.trace.prefix(0).to_json(), "packed": asked["packed"]}
    naive = ready(start, lambda content: None)
    times, _ = timed(lambda n: measure.seconds(naive.call, n), 3, 1e-3, budget / 2)
    return float(min(times))


# ---------------------------------------------------------------- two side by side


def compare(first: Mapping[str, Any], second: Mapping[str, Any], report: Report) -> dict[str, Any]:
    """Two traces in turn, round by round. `ratio`: the time of the first over the time of the second."""
    a = ready(first, report)
    b = ready(second, report, a if first["start"] == second["start"] else None)
    if a.module.on_device or b.module.on_device:
        raise DeviceError(
            "compare-device", "programs on a device are not timed side by side yet: a call is mostly copying",
            hint="time each by itself: there it is the kernels that are timed, by the device's own clock",
        )  # fmt: skip
    checks = [checked(first, a)]
    report({"state": "checking", "progress": 0.2})
    checks.append(checked(second, b))
    rounds, budget = a.chosen.rounds, min(a.chosen.limit * 0.6, 4 * a.chosen.enough)
    done = _Spaced(lambda k: report({"state": "running", "progress": 0.3 + 0.7 * k / rounds}))
    found = measure.compare(a.call, b.call, (), rounds, max(1.0, a.chosen.min_ms), (), budget, done)
    return {
        "ratio": found.ratio, "low": found.low, "high": found.high, "rounds": len(found.a.results),
        "a": list(found.a.results), "b": list(found.b.results), "verdict": of_second(found), "checks": checks,
        "size": a.args.text, "machine": host.description(),
    }  # fmt: skip


def of_second(found: measure.Comparison) -> str:
    """Of the second, beside the first."""
    return {"faster": "slower", "slower": "faster"}.get(found.verdict, found.verdict)


class _Spaced:
    """Calls passed on at most ten times a second."""

    def __init__(self, f: Callable[[int], None]) -> None:
        self.f, self.last = f, 0.0

    def __call__(self, k: int) -> None:
        if time.perf_counter() - self.last > 0.1:
            self.f(k)
            self.last = time.perf_counter()
