"""From LLVM IR text to machine code in this process: parse, optimise, emit an object, link it."""

from __future__ import annotations

import contextlib
import itertools
import os
import subprocess
import sys
import threading
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from typing import Any

import llvmlite
import llvmlite.binding as llvm

from ...core.error import BuildError
from ..base import Target
from . import dot
from .builder import Machine

OPT_LEVEL = 2
_lock = threading.RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: globals().update(_lock=threading.RLock()))
_names = itertools.count()
LEVELS = {  # x86-64 micro-architecture levels: what the CPU must have
    "x86-64-v2": ("sse4.2", "popcnt"),
    "x86-64-v3": ("avx2", "fma", "f16c", "bmi2"),
    "x86-64-v4": ("avx512f", "avx512bw", "avx512dq", "avx512vl"),
}


@lru_cache(maxsize=1)
def host_triple() -> str:
    return str(llvm.get_process_triple())


@lru_cache(maxsize=1)
def host_features() -> dict[str, bool]:
    return dict(llvm.get_host_cpu_features())


@cache
def prepare(everything: bool = False) -> None:
    """Make LLVM's targets known: this machine's, or all (for cross-compilation). Old llvmlite needs `initialize`."""
    if everything:
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
    else:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()


@dataclass(frozen=True)
class Settings:
    """A machine to generate code for."""

    triple: str
    cpu: str
    features: str

    @property
    def native(self) -> bool:
        """Can this process run the code?"""
        return self.triple.split("-")[0] == host_triple().split("-")[0]


def settings(target: Target) -> Settings:
    """The target's machine; without a CPU (and triple), this one with all it can do."""
    host = host_triple()
    if target.cpu or target.features:
        refuse_unknown(target.triple or host, target.cpu, target.features)
    if target.triple and target.triple.split("-")[0] != host.split("-")[0]:
        return Settings(target.triple, target.cpu or "generic", target.features)
    if target.cpu:
        return Settings(target.triple or host, target.cpu, target.features)
    features = ",".join(f"{'+' if on else '-'}{name}" for name, on in sorted(host_features().items()))
    extra = f",{target.features}" if target.features else ""
    return Settings(target.triple or host, str(llvm.get_host_cpu_name()), features + extra)


@lru_cache(maxsize=64)
def machine(made: Settings) -> Machine:
    """What the generated text has to know of it. Probed by compiling: LLVM knows what the names of CPUs mean."""
    arch = made.triple.split("-")[0]
    darwin = "darwin" in made.triple or "macos" in made.triple
    major = llvm.llvm_version_info[0]
    later = partial(dots, made)
    if arch not in ("x86_64", "i386", "i686"):
        target_machine(made)  # an unknown triple is refused here
        return Machine(major, half=True, width=128, darwin=darwin, dots=later)
    probe = _assembly(PROBE, made)
    width = 512 if "zmm" in probe else 256 if "ymm" in probe else 128
    return Machine(major, half="vcvtph2ps" in probe, width=width, darwin=darwin, dots=later)


@lru_cache(maxsize=64)
def dots(made: Settings) -> tuple[dot.Dot, ...]:
    """Its instructions for `dot4`. Probed as well, but only for programs that have one: it takes some milliseconds."""
    arch = dot.ARCHITECTURES.get(made.triple.split("-")[0], "")
    return dot.found(arch, _assembly(dot.probe(arch), made))


def _assembly(text: str, made: Settings) -> str:
    return str(target_machine(made).emit_assembly(parse(text, made)))


PROBE = """
define void @wide(ptr %p) "min-legal-vector-width"="512" "prefer-vector-width"="512" {
  %x = load <16 x float>, ptr %p
  %y = fadd <16 x float> %x, %x
  store <16 x float> %y, ptr %p
  ret void
}
define float @half(ptr %p) {
  %x = load half, ptr %p
  %y = fpext half %x to float
  ret float %y
}"""


SAFE = frozenset({"", "generic", "x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"})
UNKNOWN = "is not a recognized"  # what LLVM prints of a name it does not know, before it stops the process or goes on
TRY = """
import sys, llvmlite.binding as llvm
triple, cpu, features = sys.argv[1:]
llvm.initialize_all_targets(), llvm.initialize_all_asmprinters()
target = llvm.Target.from_triple(triple).create_target_machine(cpu=cpu, features=features)
target.emit_assembly(llvm.parse_assembly("define void @f() { ret void }"))
"""


@lru_cache(maxsize=64)
def refuse_unknown(triple: str, cpu: str, features: str) -> None:
    """Refuse what LLVM does not know. It is asked in another process, since it may end the one that asks."""
    if cpu in SAFE and not features:
        return
    words = [sys.executable, "-c", TRY, triple, cpu, features]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.SubprocessError):
        return
    said = [line for line in done.stderr.splitlines() if UNKNOWN in line]
    if said:
        raise BuildError("unknown-cpu", f"LLVM does not know what to compile for: {said[0]}", hint=CPU_HINT)


CPU_HINT = "names of CPUs and features are LLVM's: -mcpu=x86-64-v3, -mattr=+avx2,-fma; without -mcpu, this machine's"


def target_machine(made: Settings) -> Any:
    prepare(made.triple.split("-")[0] != host_triple().split("-")[0])
    try:
        found = llvm.Target.from_triple(made.triple)
    except RuntimeError as e:
        raise BuildError("unknown-triple", f"LLVM has no target for the triple `{made.triple}`: {e}") from None
    return found.create_target_machine(
        cpu=made.cpu, features=made.features, opt=OPT_LEVEL, reloc="pic", codemodel="small"
    )


def parse(text: str, made: Settings) -> Any:
    """A verified LLVM module."""
    try:
        module = llvm.parse_assembly(text)
        module.verify()
    except RuntimeError as e:
        raise BuildError("bad-ir", f"LLVM refused the generated code, which is a fault of the generator: {e}") from None
    module.triple = made.triple
    return module


def optimise(module: Any, tm: Any, work: str) -> None:
    """LLVM's passes. `work` is what the program is made of:

    loops    LLVM's pipeline with its loop vectoriser and unroller, since there are scalar loops for it
    vectors  all innermost loops hold explicit vectors: registers and simpler instructions only (a 500 x 500 matmul with
             its remainders, 940 lines: 2.6 ms instead of 13.5, and as fast to run; see steady.py for what is missed)
    """
    module.data_layout = str(tm.target_data)
    options = llvm.create_pipeline_tuning_options(speed_level=OPT_LEVEL)
    options.slp_vectorization = False
    passes = llvm.create_pass_builder(tm, options)
    if work == "loops":
        passes.getModulePassManager().run(module, passes)
        return
    manager = llvm.create_new_module_pass_manager()
    manager.add_always_inliner_pass()
    manager.add_sroa_pass()
    manager.add_instruction_combine_pass()
    manager.add_simplify_cfg_pass()
    manager.run(module, passes)


def _optimised(text: str, made: Settings, work: str) -> tuple[Any, Any]:
    """The module after LLVM's passes, and its target machine. For holders of the lock."""
    tm, module = target_machine(made), parse(text, made)
    optimise(module, tm, work)
    return module, tm


def compile_object(text: str, made: Settings, work: str) -> bytes:
    """IR text -> the bytes of an object file."""
    with _lock:
        module, tm = _optimised(text, made, work)
        return bytes(tm.emit_object(module))


def assembly(text: str, made: Settings, work: str) -> str:
    """The same as assembly text."""
    with _lock:
        module, tm = _optimised(text, made, work)
        return str(tm.emit_assembly(module))


def optimised(text: str, made: Settings, work: str) -> str:
    """The IR after LLVM's passes."""
    with _lock:
        return str(_optimised(text, made, work)[0])


@lru_cache(maxsize=1)
def load_libm() -> None:
    """The C maths library, for its symbols; elsewhere than on Linux it is part of what every process has."""
    if "linux" in host_triple():
        with contextlib.suppress(RuntimeError):
            llvm.load_library_permanently("libm.so.6")


def address_of(symbol: str) -> int:
    """Where a C function of this process is; 0 for one that no library defines."""
    load_libm()
    return int(llvm.address_of_symbol(symbol) or 0)


@lru_cache(maxsize=1)
def _linker() -> Any:
    prepare()
    load_libm()
    return llvm.create_lljit_compiler(use_jit_link=not host_triple().startswith("x86_64"))


def link(code: bytes, exports: tuple[str, ...], imports: dict[str, int]) -> Any:
    """Load an object into this process; `[name]` on the result is a symbol's address while the result lives."""
    with _lock:
        linker = _linker()
        library = llvm.JITLibraryBuilder().add_object_img(code).add_current_process()
        for name in exports:
            library.export_symbol(name)
        for name, address in imports.items():
            library.import_symbol(name, address)
        try:
            return library.link(linker, f"tvmlab{next(_names)}")
        except RuntimeError as e:
            raise BuildError("link", f"the compiled program cannot be linked: {e}") from None


def lacking(cpu: str) -> list[str]:
    """What this machine's CPU does not have of a micro-architecture level."""
    return [feature for feature in LEVELS.get(cpu, ()) if not host_features().get(feature)]


def runnable(made: Settings) -> str:
    """Why this machine cannot run the code, or ""."""
    if not made.native:
        return f"it was compiled for `{made.triple}`, and this machine is `{host_triple()}`"
    missing = lacking(made.cpu)
    return f"it was compiled for `{made.cpu}`, and this CPU lacks {', '.join(missing)}" if missing else ""


VERSION = f"llvmlite {llvmlite.__version__}"
