"""What one language of the C family does in its own way: a record of templates.

Templates are for `str.format`: {type} a type's name, {name}, {size}, {p} a pointer to the first element, {v} a value,
{vec} a vector type, {n} its lanes, {const} "const " or nothing, {space} the address space of a buffer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

KEYWORDS = frozenset(
    "alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl const const_cast "
    "constexpr continue decltype default delete do double dynamic_cast else enum explicit export extern false final "
    "float for friend goto if inline int long mutable namespace new noexcept not not_eq nullptr operator or or_eq "
    "private protected public register reinterpret_cast restrict return short signed sizeof static static_assert "
    "static_cast struct switch template this thread_local throw true try typedef typeid typename union unsigned "
    "using virtual void volatile wchar_t while xor xor_eq main half uchar ushort uint ulong size_t ptrdiff_t global "
    "local constant kernel device threadgroup thread packed as_type INFINITY NAN NULL MAXFLOAT HUGE_VALF M_PI dim3 "
    "warpSize gridDim blockDim blockIdx threadIdx metal vector simd popcount clz min max clamp abs select printf "
    "assert".split()
)
VECTORS = frozenset(
    f"{t}{n}" for t in ("char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "float", "double", "half")
    for n in (2, 3, 4, 8, 16)
)  # fmt: skip


@dataclass(frozen=True)
class Dialect:
    """`types`: element dtype -> its name; a dtype that is missing is refused. `half`: "native" where float16 has
    arithmetic of its own, "float" where values are float and only memory holds halves.

    `functions`: a pure function -> template of its arguments {0}, {1}, and {f}, which is `f` for float32; a key
    `name:dtype` goes first. What is missing is made of others (maths.py), or refused.
    `widths`: dtype -> the lanes of its vector types. `aligned`: vectors need the alignment of their size.
    """

    name: str
    title: str
    types: Mapping[str, str]
    half: str
    int64_suffix: str
    index: Mapping[str, str]
    barriers: Mapping[str, str]
    functions: Mapping[str, str]
    numbers: Mapping[str, str]  # "nan:float32" -> text
    widths: Mapping[str, tuple[int, ...]]
    vector_name: str  # {type}, {n}
    make_vector: str  # {vec}, {values}
    vector_load: str
    vector_store: str
    bitcast: Mapping[str, str]  # "float32:int32" -> template of {v}; "" of any pair
    head: str
    function: str  # what stands before the result type of a helper
    kernel: str  # {bounds}, {name}, {params}
    bounds: str  # {x}, {y}, {z}, {n}: threads of a block
    pointer: str  # {const}, {type}, {name}, {i}: position among the parameters
    scalar: str
    builtin_params: tuple[str, ...] = ()
    shared: str = "{type} {name}[{size}];"
    align: str = ""  # in front of the type of an array that vectors are read from
    unroll: str = "#pragma unroll"
    spaces: Mapping[str, str] = field(default_factory=dict)  # scope -> address space, with a blank after it
    aligned: bool = False
    vector_arithmetic: bool = True
    vector_types: Mapping[str, str] = field(default_factory=dict)  # dtype -> the stem of its vectors, where another
    copies: Mapping[int, str] = field(default_factory=dict)  # bytes -> an aligned type to copy them by
    fragments: Mapping[str, str] = field(default_factory=dict)  # what tensor cores do -> template (wmma.py)
    fragments_head: str = ""
    packed: str = ""  # a vector type that any element address is good for: {type}, {n}
    float64_head: str = ""
    half_head: str = ""
    strict_head: str = ""  # where the function asks for arithmetic without fused multiply-adds
    inside: str = ""  # the function of checked.py: {F}
    strict_options: tuple[str, ...] = ()  # of the compiler, for the same
    host: str = ""  # a macro of compilers that take no host code; "": the host is shown as comments
    notes: tuple[str, ...] = ()  # first lines, for who reads

    def reserved(self) -> frozenset[str]:
        """Names that a program's own things may not have."""
        found = set(KEYWORDS | VECTORS)
        for f in fields(self):
            if f.name not in ("notes", "title", "name", "inside", "strict_options"):
                found |= set(_words(getattr(self, f.name)))
        return frozenset(found)


def _words(value: Any) -> list[str]:
    """The names in templates; keys of `functions` are names that calls use."""
    if isinstance(value, Mapping):
        return [w for k, v in value.items() for w in (*_words(str(k)), *_words(v))]
    if isinstance(value, tuple):
        return [w for v in value for w in _words(v)]
    return re.findall(r"[A-Za-z_]\w+", re.sub(r"\{\w*\}", " ", value)) if isinstance(value, str) else []
