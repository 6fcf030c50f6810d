"""Options of lowering and passes of one's own, under their classic names.

with tvmlab.transform.PassContext(config={"tir.UnrollLoop": {"auto_max_step": 16}}):
    tvmlab.build(s, args, "llvm")
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from .core.error import LabError
from .core.program import Function, Program
from .core.warning import warn
from .face import api
from .lowering.config import Config
from .names import lazy

# ---------------------------------------------------------------- options

Setting = Callable[[Config, Any], Config]


def _sets(field: str, of: Callable[[Any], Any] = lambda v: v) -> Setting:
    return lambda config, value: replace(config, **{field: of(value)})


def _no(value: Any) -> bool:
    return not value


def _harmless(config: Config, value: Any) -> Config:
    """An option whose effect is had anyway, or has no meaning here and changes no result."""
    return config


def _ignored(what: str) -> Setting:
    def note(config: Config, value: Any) -> Config:
        if value:
            warn(what)
        return config

    return note


# (name since 0.7, name of release 0.6, what it does)
_OPTIONS: tuple[tuple[str, str, Setting], ...] = (
    ("tir.UnrollLoop.auto_max_step", "auto_unroll_max_step", _sets("auto_unroll_max_step", int)),
    ("tir.UnrollLoop.auto_max_depth", "auto_unroll_max_depth", _sets("auto_unroll_max_depth", int)),
    ("tir.UnrollLoop.auto_max_extent", "auto_unroll_max_extent", _sets("auto_unroll_max_extent", int)),
    ("tir.UnrollLoop.explicit_unroll", "unroll_explicit", _harmless),
    ("tir.UnrollLoop.unroll_local_access", "", _harmless),
    ("tir.LoopPartition.partition_const_loop", "partition_const_loop", _sets("partition_const_loop", bool)),
    ("tir.LoopPartition.no_unroll_loop_with_extent_one", "", _harmless),
    ("tir.LoopPartition.unroll_loop_with_partition_hint_no_interval", "", _harmless),
    ("tir.InjectDoubleBuffer.split_loop", "double_buffer_split_loop", _sets("split_loop", int)),
    ("tir.disable_vectorize", "disable_vectorize", _sets("vectorize", _no)),
    ("tir.disable_storage_rewrite", "", _sets("reuse_storage", _no)),
    ("tir.debug_keep_trivial_loop", "", _sets("keep_unit_loops", bool)),
    ("", "offset_factor", _sets("offset_factor", int)),
    ("", "data_alignment", _sets("data_alignment", int)),
    ("tir.add_lower_pass", "add_lower_pass", lambda config, value: replace(config, custom=custom_passes(value))),
    ("tir.noalias", "restricted_func", _harmless),
    ("tir.disable_assert", "disable_assert", _harmless),  # calls are checked before the program runs
    ("tir.disable_cse_tir", "", _harmless),
    ("tir.enable_equiv_terms_in_cse_tir", "", _harmless),
    ("tir.RemoveNoOp", "", _harmless),
    ("tir.Simplify", "", _harmless),
    ("tir.detect_global_barrier", "detect_global_barrier", _ignored("global barriers are not detected here")),
    ("", "disable_select_rewriting", _harmless),
    ("te.keep_schedule_record", "", _harmless),  # a schedule always keeps its trace
    ("tir.instrument_bound_checkers", "instrument_bound_checkers", _sets("bounds", bool)),
    ("tir.use_async_copy", "", _ignored("there is no asynchronous copy here")),
    ("", "dump_pass_ir", _ignored("to see the program after each pass use lower with Config(snapshots=True)")),
)  # fmt: skip
NEW = {new: setting for new, _, setting in _OPTIONS if new}
OLD = {old: setting for _, old, setting in _OPTIONS if old}
GROUPS = {"tir.UnrollLoop", "tir.LoopPartition", "tir.InjectDoubleBuffer"}


class UnknownOption(LabError, AttributeError, ValueError):
    """An option that does not exist."""


def configured(options: Mapping[str, Any], known: Mapping[str, Setting], start: Config) -> Config:
    """`start` with the options applied."""
    for key, value in options.items():
        if key in GROUPS and isinstance(value, Mapping):
            start = configured({f"{key}.{k}": v for k, v in value.items()}, known, start)
        elif key in known:
            start = known[key](start, value)
        else:
            raise UnknownOption("unknown-option", f"there is no option `{key}`", legal=sorted(known))
    return start


class PassContext:
    """Options of `lower` and `build` inside a `with` block. `config`: the classic keys; unknown ones are refused.

    `opt_level`, `required_pass` and `instruments` have no meaning here; `disabled_pass`: passes left out, by their
    names here or by the classic ones (`tir.UnrollLoop`). With the key `tir.instrument_bound_checkers` kernels look at
    every index: without it, a write far outside an array is silent on a device.
    """

    _open: list[PassContext] = []

    def __init__(
        self,
        opt_level: int = 2,
        required_pass: Sequence[str] | None = None,
        disabled_pass: Sequence[str] | None = None,
        instruments: Sequence[Any] | None = None,
        config: Mapping[str, Any] | None = None,
    ) -> None:
        self.opt_level, self.config = opt_level, dict(config or {})
        self.required_pass, self.disabled_pass = list(required_pass or ()), list(disabled_pass or ())
        if instruments:
            warn("pass instruments are not run here")
        self._options, self._known = self.config, NEW
        configured(self.config, NEW, Config())  # unknown keys are refused here, not at the `with`

    def __enter__(self) -> PassContext:
        made = configured(self._options, self._known, api.current_config())
        off = frozenset(OURS.get(p.removeprefix("tir."), p) for p in self.disabled_pass)
        api.push_config(replace(made, disabled=made.disabled | off))
        PassContext._open.append(self)
        return self

    def __exit__(self, *error: object) -> None:
        PassContext._open.pop()
        api.pop_config()

    @staticmethod
    def current() -> PassContext:
        """The innermost context."""
        return PassContext._open[-1] if PassContext._open else PassContext()

    def __repr__(self) -> str:
        return f"PassContext(opt_level={self.opt_level}, config={self.config})"


def context_of(options: Mapping[str, Any]) -> PassContext:
    """Release 0.6's build_config."""
    made = PassContext()
    configured(options, OLD, Config())
    made._options, made._known, made.config = dict(options), OLD, dict(options)
    return made


# ---------------------------------------------------------------- passes


class PassInfo:
    def __init__(self, name: str, opt_level: int = 0) -> None:
        self.name, self.opt_level, self.required = name, opt_level, []  # type: ignore[var-annotated]


class Pass:
    """Program -> Program: `mod = some_pass(mod)`. A function or a bare statement is taken too, and given back."""

    def __init__(self, run: Callable[[Program], Program], name: str, opt_level: int = 0) -> None:
        self._run, self.info = run, PassInfo(name, opt_level)

    def __call__(self, mod: Any) -> Any:
        if isinstance(mod, Program):
            return self._run(mod)
        if isinstance(mod, Function):
            return self._run(Program((mod,))).entry
        return self._run(Program((Function("main", (), mod),))).body

    def __repr__(self) -> str:
        return f"pass({self.info.name})"


# the classic name of a pass -> the file in lowering/passes that does it
OURS = {
    "Simplify": "simplify", "LoopPartition": "partition_loops", "VectorizeLoop": "vectorize",
    "UnrollLoop": "unroll_loops",
    "RemoveNoOp": "remove_noop", "StorageRewrite": "reuse_storage", "StorageFlatten": "flatten_storage",
    "FlattenBuffer": "flatten_storage", "InjectVirtualThread": "virtual_threads", "InjectDoubleBuffer": "double_buffer",
    "HoistIfThenElse": "hoist_guards", "CanonicalSimplify": "simplify", "ThreadSync": "sync_threads",
}  # fmt: skip


def standard(name: str, **changes: Any) -> Pass:
    """A pass of ours under its classic name."""
    from .lowering import passes

    ours = OURS[name]
    if ours not in passes.names():
        raise LabError("no-such-pass", f"tir.transform.{name} does not exist in tvmlab", legal=sorted(OURS))

    def run(program: Program) -> Program:
        return passes.get(ours)(program, replace(api.current_config(), **changes))

    return Pass(run, f"tir.{name}")


def _decorated(make: Callable[[Any, str, int], Pass], what: Any, opt_level: int | None, name: str | None) -> Any:
    """The classic decorators: over a function, or over a class whose objects have `transform_function`."""

    def apply(target: Any) -> Any:
        shown = name or target.__name__
        if not isinstance(target, type):
            return make(target, shown, opt_level or 0)

        def build(*args: Any, **options: Any) -> Pass:
            held = target(*args, **options)
            f = getattr(held, "transform_function", None) or held.transform_module
            return make(f, shown, opt_level or 0)

        return build

    return apply if what is None else apply(what)


def prim_func_pass(pass_func: Any = None, opt_level: int | None = None, name: str | None = None, **rest: Any) -> Any:
    """A pass from `f(function, program, context) -> function`."""

    def make(f: Any, shown: str, level: int) -> Pass:
        def run(program: Program) -> Program:
            made = tuple(f(fn, program, PassContext.current()) for fn in program.functions)
            return program if made == program.functions else replace(program, functions=made)

        return Pass(run, shown, level)

    return _decorated(make, pass_func, opt_level, name)


def module_pass(pass_func: Any = None, opt_level: int | None = None, name: str | None = None, **rest: Any) -> Any:
    """A pass from `f(program, context) -> program`."""

    def make(f: Any, shown: str, level: int) -> Pass:
        return Pass(lambda program: f(program, PassContext.current()), shown, level)

    return _decorated(make, pass_func, opt_level, name)


def Sequential(passes: Sequence[Pass] = (), opt_level: int = 0, name: str = "sequential", **rest: Any) -> Pass:  # noqa: N802
    """One pass after another."""

    def run(program: Program) -> Program:
        for p in passes:
            program = p(program)
        return program

    return Pass(run, name, opt_level)


def PrintIR(header: str = "", show_meta_data: bool = False) -> Pass:  # noqa: N802
    """Print the program and pass it on."""

    def run(program: Program) -> Program:
        print(f"{header}\n{program}" if header else program)
        return program

    return Pass(run, "PrintIR")


def custom_passes(given: Sequence[tuple[int, Any]]) -> tuple[tuple[int, Callable[[Program], Program]], ...]:
    """add_lower_pass: (phase, pass), a Pass or release 0.6's function from statement to statement."""

    def of(f: Any) -> Callable[[Program], Program]:
        return f if isinstance(f, Pass) else lambda program: program.map_bodies(f)

    return tuple((min(int(phase), 3), of(f)) for phase, f in given)


__getattr__, __dir__ = lazy(__name__, {})
