"""tvmlab: tensor expressions, schedules and fast kernels, made to be looked at in a notebook.

Public names load on first use, so that `import tvmlab` stays quick whatever the package can do.
"""

from importlib import import_module
from typing import Any

from .core import hooks

__version__ = "0.1.0"

# public name -> the module that defines it; a name that is a module itself maps to that module ("te": "tvmlab.te")
_WHERE: dict[str, str] = {
    name: module
    for module, names in {
        "tvmlab.face.api": "lower build create_schedule Schedule",
        "tvmlab.face.resources": "resources",
        "tvmlab.schedule.trace": "Trace",
        "tvmlab.lab.app": "Lab",
        "tvmlab.lab.settings": "options",
        # release 0.6 had everything at the top
        "tvmlab.te": """placeholder compute scan extern var size_var const reduce_axis thread_axis sum min max prod any
            all comm_reducer tag_scope if_then_else min_value max_value add subtract multiply
            exp exp2 exp10 erf tanh sigmoid log log2 log10 log1p tan cos cosh sin sinh acos acosh asin asinh atan atan2
            atanh sqrt rsqrt floor ceil trunc abs round nearbyint power popcount fmod isnan isfinite isinf
            truncdiv truncmod floordiv floormod indexdiv indexmod div likely ceildiv reinterpret""",
        "tvmlab.tir": """ir_builder call_extern call_pure_extern call_intrin call_pure_intrin call_packed
            call_llvm_intrin address_of pow infinity""",
        "tvmlab.classic": """select shape_var convert as_const IRModule build_config BuildConfig Range IterVar
            schedule_to_module decl_buffer decl_tensor_intrin register_intrin_rule register_intrin_lowering
            register_extension""",
        "tvmlab.ir": "save_json load_json",
        "tvmlab.runtime": """cpu device enabled register_func get_global_func list_global_func_names remove_global_func
            Module load_module""",
        "tvmlab.runtime.device": "Device cuda gpu rocm opencl cl metal mtl vulkan vpi ext_dev hexagon webgpu",
        "tvmlab.runtime.names": "context TVMContext DataType",
        "tvmlab.core.error": "TVMError LabError",
    }.items()
    for name in names.split()
} | {
    name: f"tvmlab.{name}"
    for name in """te tir nd topi target transform testing contrib runtime error ir arith ir_pass schedule expr compat
        module kernels tune autotvm rpc exec""".split()
}

# release 0.6's modules -> where their names are now
_MODULES: dict[str, str] = {
    "stmt": "tvmlab.tir", "make": "tvmlab.tir", "intrin": "tvmlab.tir", "api": "tvmlab", "tensor": "tvmlab.te",
    "ndarray": "tvmlab.nd", "container": "tvmlab.ir", "node": "tvmlab.ir", "attrs": "tvmlab.ir",
    "build_module": "tvmlab", "driver": "tvmlab", "codegen": "tvmlab.module", "tag": "tvmlab.te",
}  # fmt: skip

# what a notebook shows of schedules, tensors, programs: loaded when one is shown
hooks.later(lambda: import_module("tvmlab.view.rich"))
hooks.later(lambda: import_module("tvmlab.view.tuned_live"))
hooks.later(lambda: import_module("tvmlab.lab.app"))  # s.lab()


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        module = import_module(_WHERE[name])
        value = module if module.__name__ == f"{__name__}.{name}" else getattr(module, name)
    elif name in _MODULES:
        value = import_module(_MODULES[name])
    else:
        raise _unknown(name)
    globals()[name] = value  # the next look-up does not come here
    return value


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext tvmlab`: the cell magic `%%schedule`."""
    import_module("tvmlab.lab.magic").register(shell)


def __dir__() -> list[str]:
    return sorted({*globals(), *_WHERE, *_MODULES})


def _unknown(name: str) -> Exception:
    if name.startswith("_"):  # asked for by machinery, not by a person
        return AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .names import missing

    return missing(__name__, name, _WHERE, {})
