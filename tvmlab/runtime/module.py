"""A compiled program as a person holds it: call it, read it, time it, export it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..core.error import BuildError, LabError, MissingName
from ..core.program import Function, Program
from ..core.text import to_html
from ..target.base import ALIASES, Compiled, Target, get
from ..target.base import names as target_names
from . import bundle, load, measure
from .array import address, astray
from .bind import Bound, bind, refuse_names
from .device import Device, DeviceError, device
from .plan import Plan, make_plan
from .signature import Signature, signature_of

ENTRY = "__tvm_main__"  # the classic name of every module's entry
SHORT, FIRST_LINES, SHOWN_LINES = 30, 12, 400  # lines of source in a notebook: shown whole, shown at once, folded


class Module:
    """`mod(a, b, c)` checks the arguments (see `bind`) and runs the program. Outputs are arguments; it returns nothing.

    `function` is the lowered program it was compiled from (None for a module loaded from an export).
    """

    def __init__(
        self,
        function: Function | None,
        target: Target,
        compiled: Compiled,
        trace_hash: str = "",
        signature: Signature | None = None,
    ) -> None:
        if signature is None:
            if function is None:
                raise BuildError("no-signature", "a module needs the function it was compiled from, or a signature")
            signature = signature_of(function)
        self.function, self.target, self.compiled, self.trace_hash = function, target, compiled, trace_hash
        self.signature = signature
        self._raw: Callable[..., Any] | None = compiled.extra.get("raw")
        self._plan: Plan | None = None
        self._launcher = self._attached()

    def _attached(self) -> Any:
        """What runs device code, which a target cannot: None for a program that runs on this processor."""
        if "device" not in self.compiled.extra:
            return None
        from .gpu import Launcher

        return Launcher(self.compiled.extra["device"], self.compiled.extra["host"])

    # ------------------------------------------------------------ running

    def __call__(self, *args: Any, **named: Any) -> None:
        if named:
            refuse_names(self.signature, named)
        plan = self._plan
        if plan is None or not plan(args):
            self._checked(args)

    def _checked(self, args: tuple[Any, ...]) -> None:
        bound = self._bind(args)
        if self._launcher is None and not bound.copied:
            self._plan = make_plan(self.signature, args, bound, self.compiled.call, self._raw)
        else:
            self._plan = None
        self._runner(bound)()
        bound.finish()

    def _bind(self, args: tuple[Any, ...]) -> Bound:
        return bind(self.signature, args, self.device_kind)

    def _runner(self, bound: Bound) -> Callable[[], Any]:
        """The bare call on checked arguments."""
        if self._raw is not None:
            return functools.partial(self._raw, *map(address, bound.arrays), *bound.numbers)
        if self._launcher is not None:
            return functools.partial(self._launcher.call, bound.arrays, bound.numbers, bound.place, bound.owners)
        return functools.partial(self.compiled.call, bound.arrays, bound.numbers)

    @property
    def device_kind(self) -> str:
        return self.target.kind.device

    # ------------------------------------------------------------ functions by name

    @property
    def entry_name(self) -> str:
        return self.signature.name

    @property
    def entry_func(self) -> Callable[..., None]:
        return self.__call__

    def get_function(self, name: str, query_imports: bool = False) -> Callable[..., None]:
        """The function of that name. A module here has one."""
        if name not in (self.entry_name, ENTRY):
            raise MissingName("unknown-function", f"this module has no function `{name}`", legal=[self.entry_name])
        return self.__call__

    def __getitem__(self, name: str) -> Callable[..., None]:
        return self.get_function(name)

    def implements_function(self, name: str, query_imports: bool = False) -> bool:
        return name in (self.entry_name, ENTRY)

    # ------------------------------------------------------------ reading

    @property
    def type_key(self) -> str:
        return self.target.name

    @property
    def source(self) -> str:
        """The generated text a person reads."""
        return self.compiled.source

    @property
    def ir(self) -> str:
        """The compiler's intermediate text ("" for a target that has none)."""
        return self.compiled.ir()

    @property
    def asm(self) -> str:
        """The machine code as assembly ("" for a target that has none)."""
        return self.compiled.asm()

    def get_source(self, fmt: str = "") -> str:
        """The source, or by the classic format names: `ll` the IR, `asm` or `s` the assembly."""
        forms = {"": lambda: self.source, "ll": lambda: self.ir, "asm": lambda: self.asm, "s": lambda: self.asm}
        if fmt not in forms:
            raise LabError("unknown-format", f"no source of format {fmt!r}", legal=[repr(f) for f in forms])
        return forms[fmt]()

    @property
    def imported_modules(self) -> tuple[KernelText, ...]:
        """Classic: of a program with kernels one, whose `get_source()` is their text."""
        return (KernelText(self),) if self.target.kind.model else ()

    # ------------------------------------------------------------ timing

    def time_evaluator(
        self,
        func_name: str,
        dev: Device | None = None,
        number: int = 10,
        repeat: int = 1,
        min_repeat_ms: float = 0,
        limit_zero_time_iterations: int = 100,
        cooldown_interval_ms: float = 0,
        repeats_to_cooldown: int = 1,
        cache_flush_bytes: int = 0,
        f_preproc: str = "",
        ctx: Device | None = None,
    ) -> Callable[..., measure.BenchmarkResult]:
        """A function of the program's arguments that times it: one run to warm up, then `repeat` times `number` runs.

        The arguments are checked once, and copied if they need it, before the clock starts. `min_repeat_ms`: `number`
        grows until a repeat lasts that long. `cache_flush_bytes`: memory to stream through before each repeat.
        `f_preproc`: name of a packed function that gets the arguments before each repeat. `ctx`: release 0.6's `dev`.
        On a device the times are of the kernels alone, by the device's events; the CUDA simulator is not timed.
        """
        self.get_function(func_name)
        dev = dev or ctx or device(self.device_kind)
        if dev.require().kind != self.device_kind:
            raise DeviceError("device-kind", f"this module runs on {self.device_kind}, not on {dev}")
        plan = measure.Timing(
            number, repeat, min_repeat_ms, limit_zero_time_iterations, cooldown_interval_ms, repeats_to_cooldown,
            cache_flush_bytes, f_preproc,
        )  # fmt: skip

        def evaluate(*args: Any, **named: Any) -> measure.BenchmarkResult:
            refuse_names(self.signature, named)
            bound = self._bind(args)
            try:
                if self._launcher is None:
                    return replace(measure.run(self._runner(bound), plan, args), remark=self._astray(bound))
                with self._launcher.timed(bound.arrays, bound.numbers, bound.place, bound.owners) as clock:
                    return measure.run_by(clock, plan, args, "time of the kernels, by the device's events")
            finally:
                bound.finish()

        return evaluate

    def _astray(self, bound: Bound) -> str:
        if self.target.kind.name == "interp":  # no vectors, and no such times
            return ""
        return astray(zip((p.name for p in self.signature.buffers), bound.arrays, strict=True))

    def runner(self, *args: Any, **named: Any) -> Callable[[], Any]:
        """The bare call on these arguments, which are checked once; outputs that need a copy are refused."""
        refuse_names(self.signature, named)
        bound = self._bind(args)
        if bound.back:
            raise LabError("copied-output", "an output that is not contiguous cannot be written in place")
        return self._runner(bound)

    @property
    def on_device(self) -> bool:
        """Do its kernels run on a device (or its simulator), not in this process's own code?"""
        return self._launcher is not None

    @contextmanager
    def clocked(self, *args: Any, **named: Any) -> Iterator[measure.Clock]:
        """A clock on these arguments: `clock(n)` runs the program `n` times, and gives the seconds they took.

        On a device they are of the kernels alone, and outputs come back at the end of the block. Refused: to time the
        CUDA simulator; outputs that need a copy.
        """
        refuse_names(self.signature, named)
        if self._launcher is None:
            run = self.runner(*args)
            yield lambda number: measure.seconds(run, number)
            return
        bound = self._bind(args)
        with self._launcher.timed(bound.arrays, bound.numbers, bound.place, bound.owners) as clock:
            yield clock
        bound.finish()

    def set_num_threads(self, n: int) -> None:
        """How many threads parallel loops use from now on."""
        if not isinstance(n, int) or n < 1:
            raise LabError("thread-count", f"the number of threads must be at least 1, got {n}")
        hook = self.compiled.extra.get("set_num_threads")
        if hook is None:
            raise LabError("one-thread", f"modules for {self.target.name} run on one thread")
        hook(n)

    # ------------------------------------------------------------ saving

    def export(self, path: str | Path) -> None:
        """Write the program to a file that runs without tvmlab, and beside it `<path>.json`, for `load_module`."""
        hook = self.compiled.extra.get("export")
        if hook is None:
            raise LabError("no-export", f"modules for {self.target.name} cannot be exported", legal=["numba", "llvm"])
        folder = Path(path).parent
        if not folder.is_dir():
            raise LabError("export-folder", f"cannot export to `{path}`: there is no folder `{folder}`")
        hook(str(path))
        load.write_card(path, self.signature, self.target, self.compiled.extra)

    def export_library(self, file_name: str | Path, **options: Any) -> None:
        """The classic name of `export`; it also packs everything into one `.tar`."""
        if options:
            raise LabError("export-options", f"export_library takes no {', '.join(options)} here")
        if Path(file_name).suffix == ".tar":
            bundle.pack(Path(file_name), self.export, self.compiled.extra.get("ending", ".so"))
        else:
            self.export(file_name)

    def save(self, file_name: str | Path, fmt: str = "") -> None:
        """The classic name of `export`; `fmt` must agree with the name's ending."""
        if fmt and Path(file_name).suffix != f".{fmt}":
            raise LabError("export-format", f"format {fmt!r} does not agree with the name {Path(file_name).name}")
        self.export(file_name)

    def __reduce__(self) -> Any:
        if self.function is None:
            raise TypeError("a module loaded from an export cannot be pickled: it has no program to be rebuilt from")
        return rebuild, (self.compiled.extra.get("program", self.function), self.target, self.trace_hash)

    # ------------------------------------------------------------ showing

    def __repr__(self) -> str:
        return f"<tvmlab.Module {self.signature} for {self.target}>"

    def _repr_html_(self) -> str:
        lines = self.source.splitlines()
        first = len(lines) if len(lines) <= SHORT else FIRST_LINES
        head = to_html("\n".join([f"# {self.signature} for {self.target}", *lines[:first]]))
        rest = lines[first:SHOWN_LINES]
        if not rest:
            return head
        if len(lines) > SHOWN_LINES:
            rest.append(f"# ... {len(lines) - SHOWN_LINES} more lines: print(module.source)")
        fold = f"<summary>{len(lines) - first} more lines of the source</summary>"
        return f"{head}<details>{fold}{to_html(chr(10).join(rest))}</details>"


class KernelText:
    """The kernels of a module, as classic scripts ask for them. There is one text, with the host's part in it."""

    def __init__(self, module: Module) -> None:
        self.type_key, self.get_source, self.save = module.type_key, module.get_source, module.save

    def __repr__(self) -> str:
        return f"<the kernels of a tvmlab.Module for {self.type_key}>"


def rebuild(lowered: Function | Program, target: Target, trace_hash: str = "") -> Module:
    """Compile a lowered function, or a program with kernels, for a target: what unpickling does."""
    program = lowered if isinstance(lowered, Program) else Program((lowered,))
    return Module(program.entry, target, target.kind.compile(program, target), trace_hash)


def enabled(target: str) -> bool:
    """Can this installation build for a target of that name? (`"llvm -mcpu=..."` counts as llvm.)"""
    word = (str(target).split() or [""])[0]
    name = ALIASES.get(word, word)
    from .gpu import lacking

    return name in target_names() and get(name).runs and not lacking(name)


def load_module(path: str | Path) -> Module:
    """A module from a file that `export` wrote (with its `.json` beside it)."""
    signature, target, compiled = load.read(path)
    return Module(None, target, compiled, signature=signature)
