"""What a target is: a record of its differences, found by the name of its file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

from ..core.error import BuildError
from ..core.program import Program

SHARED_FILES = {"base", "cabi", "clike", "gpu", "pylike", "__init__"}

# targets that are not in a file of their own name
FOLDERS = {"numba": "numba_cpu", "cuda": "numba_cuda"}
_NAMES = {folder: name for name, folder in FOLDERS.items()}

# what has kernels, whether it is there or not yet
GPUS = {"cuda", "cuda_c", "opencl", "metal", "rocm", "vulkan", "nvptx", "webgpu"}

# names of the classic stack -> the target that does it here
ALIASES = {"c": "llvm", "cpu": "llvm", "stackvm": "interp"}
NOT_YET = {"rocm", "vulkan", "nvptx", "webgpu", "hexagon", "ext_dev", "vdla", "aocl"}
OPTIONS = {"mcpu": "cpu", "mattr": "features", "mtriple": "triple", "target": "triple", "num-threads": "threads",
           "arch": "arch", "max-num-threads": "max_num_threads",
           "max-threads-per-block": "max_num_threads",
           "max-shared-memory-per-block": "max_shared_memory_per_block"}  # fmt: skip
LIMITS = ("max_num_threads", "max_shared_memory_per_block")
FIELDS = ("cpu", "features", "triple", "threads", "arch", *LIMITS)
OF_GPUS = {"arch", *LIMITS}  # fields that say nothing of a CPU
COUNTS = {"threads", *LIMITS}

# classic options that say nothing here: they are read over, as `arch` is of a CPU
READ_OVER = {"device", "model", "keys", "libs", "mfloat-abi", "mabi", "system-lib", "link-params", "runtime", "tag",
             "mtune", "fast-math", "opt-level", "host", "thread_warp_size", "thread-warp-size",
             "unpacked-api", "interface-api", "executor", "constants-byte-alignment", "workspace-byte-alignment",
             "vector-width", "vector_unit_bytes", "march", "options", "from_device", "target_device_type"}  # fmt: skip

_open: list[Target] = []  # the `with` blocks


@dataclass(frozen=True, init=False)
class Target:
    """A target with its options, as a person asks for it: `Target("llvm", cpu="x86-64-v3")`, `Target("llvm -mcpu=x")`.

    `cpu`, `features`: names of LLVM ("" means this machine's). `triple`: cross-compilation. `threads`: 0 means all.
    `arch`: the GPU whose limits hold, `Target("cuda_c", arch="sm_90")`; "" means the first that the target knows.
    `max_num_threads`, `max_shared_memory_per_block` (bytes): of a block on a GPU, where that is less than the
    architecture takes, or nothing is known of it.
    In a `with` block it is the target of every build that names none. Other classic options are read over; `host` is
    the target itself, since CPU targets have no other.
    """

    name: str
    cpu: str = ""
    features: str = ""
    triple: str = ""
    threads: int = 0
    arch: str = ""
    max_num_threads: int = 0
    max_shared_memory_per_block: int = 0

    def __init__(
        self, name: Any = "llvm", cpu: str = "", features: str = "", triple: str = "", threads: int = 0,
        *, arch: str = "", max_num_threads: int = 0, max_shared_memory_per_block: int = 0, target: Any = None,
        host: Any = None,
    ) -> None:  # fmt: skip
        word, asked = _parsed(name if target is None else target)
        given = dict(zip(FIELDS, (cpu, features, triple, threads, arch, max_num_threads, max_shared_memory_per_block)))
        made = {"name": word, **asked, **{k: v for k, v in given.items() if v}}
        if made.get("arch"):
            _refuse_arch(word, made["arch"])
        for key in ("name", *given):
            object.__setattr__(self, key, made.get(key, 0 if key in COUNTS else ""))

    @property
    def kind(self) -> TargetKind:
        return get(self.name)

    @property
    def keys(self) -> list[str]:
        """Classic: the families a schedule may be chosen by."""
        return [self.name, "gpu"] if self.name in GPUS | NOT_YET else ["cpu"]

    @property
    def host(self) -> Target:
        return self

    @property
    def device_model(self) -> str:
        """The name of the model in `gpu.limits` whose limits hold; "" of a CPU."""
        return self.arch or self.kind.model

    mcpu = property(lambda self: self.cpu)
    model = property(lambda self: "unknown")
    target_name = property(lambda self: self.name)  # release 0.6

    @staticmethod
    def current(allow_none: bool = True) -> Target | None:
        """The target of the innermost `with` block."""
        if not _open and not allow_none:
            raise ValueError("there is no target in force: use `with Target(...):`")
        return _open[-1] if _open else None

    @staticmethod
    def list_kinds() -> list[str]:
        return list(names())

    def __enter__(self) -> Target:
        _open.append(self)
        return self

    def __exit__(self, *error: object) -> None:
        _open.pop()

    def __str__(self) -> str:
        options = {
            "mcpu": self.cpu, "mattr": self.features, "mtriple": self.triple, "num-threads": self.threads,
            "arch": self.arch, **{k: getattr(self, k) for k in LIMITS},
        }  # fmt: skip
        return " ".join([self.name, *[f"-{k}={v}" for k, v in options.items() if v]])


def _parsed(target: Any) -> tuple[str, dict[str, Any]]:
    """The name and the options of a target's text, of its classic mapping, or of a Target."""
    if isinstance(target, Target):
        return target.name, {k: getattr(target, k) for k in FIELDS}
    if isinstance(target, dict):
        pairs = {str(k).removeprefix("-"): v for k, v in target.items()}
        word = str(pairs.pop("kind", pairs.pop("id", "llvm")))
    else:
        words = str(target).split() or [""]
        word = words[0]
        pairs = dict(_option(word, w) for w in words[1:])
    _refuse_unknown(word, pairs)
    found = {OPTIONS[k]: v for name, v in pairs.items() if (k := name.replace("_", "-")) in OPTIONS and v}
    if isinstance(found.get("features"), (list, tuple)):
        found["features"] = ",".join(found["features"])
    found.update({k: _count(word, k, v) for k, v in found.items() if k in COUNTS})
    return word, {k: v for k, v in found.items() if word in GPUS or k not in OF_GPUS}


def _count(target: str, field: str, value: Any) -> int:
    try:
        if (n := int(value)) > 0:
            return n
    except (TypeError, ValueError):
        pass
    name = next(k for k, f in OPTIONS.items() if f == field)
    raise BuildError("target-option", f"the option -{name} of the target `{target}` is a number above 0, not {value!r}")


def _option(target: str, text: str) -> tuple[str, str]:
    """`-mcpu=x` or `--mcpu=x` -> ("mcpu", "x")."""
    if not text.startswith("-"):
        raise BuildError(
            "target-option", f"`{text}` in the target `{target} ...` is no option: an option is -name=value",
            legal=_legal(target),
        )  # fmt: skip
    name, _, value = text.lstrip("-").partition("=")
    return name, value


def _legal(target: str) -> list[str]:
    """The options of that target."""
    return [f"-{k}=" for k, field in OPTIONS.items() if (field in OF_GPUS) == (target in GPUS)]


def _refuse_arch(target: str, arch: Any) -> None:
    """An architecture of which nothing is known, or of another maker; one whose target is wrong is not looked at."""
    from .gpu import limits

    if ALIASES.get(target, target) not in names():
        return
    known = limits.family(get(target).model)
    if arch not in known:
        raise BuildError(
            "unknown-architecture",
            f"there is no model of the architecture `{arch}` for the target `{target}`" if known
            else f"the target `{target}` has no architectures to choose from",
            legal=known, hint="" if known else 'a processor is named by cpu=, as in Target("llvm", cpu="x86-64-v3")',
        )  # fmt: skip


def _refuse_unknown(target: str, pairs: dict[str, Any]) -> None:
    """An option that is neither one of ours nor a classic one without meaning here: mostly a slip of the fingers."""
    from difflib import get_close_matches

    if ALIASES.get(target, target) not in names():
        return  # the name of the target is what is wrong, or it is a GPU's, with options of its own
    for name in pairs:
        key = name if name in READ_OVER else name.replace("_", "-")
        if key in OPTIONS or key in READ_OVER:
            continue
        close = get_close_matches(key, [*OPTIONS, *READ_OVER], 2)
        raise BuildError(
            "target-option",
            f"the target `{target}` has no option -{name}",
            legal=_legal(target),
            hint=f"did you mean {' or '.join(f'-{k}' for k in close)}?" if close else "",
        )


@dataclass(frozen=True)
class Compiled:
    """Machine code (or a Python function) of one program.

    `call(arrays, scalars)`: NumPy arrays for the buffer parameters in order, already checked, C-contiguous and of the
    right dtype; then numbers for the scalar parameters in order followed by the function's `sizes`.
    A flat function with a strided buffer gets that array's span, as a one-dimensional array.
    `source`: the text a person reads. `ir`, `asm`: functions, since making them may take time.

    `extra`, all optional, and what else the target keeps:
    raw               callable(*addresses, *scalars, *sizes), the fast way to call; addresses as integers
    export            callable(path): write a file that runs without tvmlab (`runtime.load` reads it back)
    ending            of the file that `export` writes into an archive, if it is not `.so`
    symbol            the function's name in that file, if it is not the program's
    status            in that file it returns an int, 0 for success
    numbers           dtypes in which it takes scalars and sizes, if they are not the program's
    set_num_threads   callable(n)
    device, host      of a program with kernels: its `gpu.DeviceCode`, and the function that launches them. `call` then
                      only refuses: the Module, which knows devices, runs them
    program           of one with kernels: what it was compiled from
    """

    call: Callable[[Sequence[Any], Sequence[Any]], None]
    source: str
    ir: Callable[[], str] = lambda: ""
    asm: Callable[[], str] = lambda: ""
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class TargetKind:
    """The record a target's file exports as TARGET.

    `passes`: names of lowering passes after the shared ones; `leaves_out`: shared ones that do it no good.
    `source(program, target)`: the generated text. `compile(program, target)`: something that runs. `scopes`: storage
    scopes it has. `threads`: it runs loops that are bound to thread axes; `model`: of a device with kernels, the one
    whose limits hold (`gpu.limits`); `asks`: its kernels may have more shared memory than they can declare, from the
    driver.

    For who reads: `title`, what the generated text is called ("": as the target); `syntax`, how its words are found
    (python, llvm, asm, c); `forms`, what else a compiled program can show without a long wait (`asm`); `own_text`:
    False where the text is just the loops. `checks`: it finds indices outside an array, or does so with
    `Config.bounds`. `runs`: False where `compile` only says that the target is text.
    """

    name: str
    about: str
    source: Callable[[Program, Target], str]
    compile: Callable[[Program, Target], Compiled]
    passes: tuple[str, ...] = ()
    leaves_out: frozenset[str] = frozenset()
    threads: bool = False
    model: str = ""
    asks: bool = False
    scopes: frozenset[str] = frozenset({"global", "local", "shared", "warp"})
    device: str = "cpu"
    title: str = ""
    syntax: str = "c"
    forms: tuple[str, ...] = ()
    own_text: bool = True
    checks: bool = False
    runs: bool = True

    def __str__(self) -> str:
        return self.name


KERNELS = frozenset({"hoist_guards", "partition_loops", "promote_registers"})  # they make loops of a size that differs
# from thread to thread, which no GPU compiler unrolls into registers


@lru_cache(maxsize=1)
def names() -> tuple[str, ...]:
    """The targets that exist: the files of this folder."""
    here = Path(__file__).parent
    found = {p.stem for p in here.glob("*.py")} | {p.parent.name for p in here.glob("*/__init__.py")}
    return tuple(sorted(_NAMES.get(n, n) for n in found - SHARED_FILES))


@cache
def get(name: str) -> TargetKind:
    """The record of the target of that name; an unknown name answers with those that exist."""
    name = ALIASES.get(name, name)
    if name not in names():
        hint = f"{name} is not there yet: bound loops lower and print, and run on `interp`" if name in NOT_YET else ""
        raise BuildError("unknown-target", f"there is no target `{name}`", legal=names(), hint=hint)
    kind: TargetKind = import_module(f".{FOLDERS.get(name, name)}", __package__).TARGET
    return kind
