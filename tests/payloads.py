"""The payload contract as TypeScript, and a check that a value keeps it.

    python -m tests.payloads        writes extension/src/view/payload.ts from tvmlab/view/payload.py,
                                    and extension/src/tune/payload.ts from tvmlab/view/payload_tune.py
"""

from __future__ import annotations

import sys
import types
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, NotRequired, Union, get_args, get_origin, get_type_hints

from tvmlab.view import payload, payload_tune

SOURCE = Path(__file__).parents[1] / "extension/src"
FILES = {SOURCE / "view/payload.ts": payload, SOURCE / "tune/payload.ts": payload_tune}
PLAIN = {str: "string", int: "number", float: "number", bool: "boolean", type(None): "null", Any: "unknown"}


def records(module: ModuleType) -> dict[str, Any]:
    """The TypedDicts of a file of the contract, by name, in its order."""
    found = vars(module).items()
    return {n: t for n, t in found if isinstance(t, type) and getattr(t, "__module__", "") == module.__name__}


def is_record(kind: Any) -> bool:
    return any(kind in records(module).values() for module in FILES.values())


def fields(record: Any) -> dict[str, Any]:
    return get_type_hints(record, vars(sys.modules[record.__module__]), include_extras=True)


# ---------------------------------------------------------------- as TypeScript


def written(kind: Any) -> str:
    if kind in PLAIN:
        return PLAIN[kind]
    if is_record(kind):
        return str(kind.__name__)
    origin, inside = get_origin(kind), get_args(kind)
    if origin is NotRequired:
        return written(inside[0])
    if origin is Literal:
        return " | ".join(f'"{x}"' for x in inside)
    if origin is list:
        one = written(inside[0])
        return f"({one})[]" if "|" in one else f"{one}[]"
    if origin is tuple:
        return f"[{', '.join(map(written, inside))}]"
    if origin is dict:
        return f"Record<{written(inside[0])}, {written(inside[1])}>"
    if origin in (Union, types.UnionType):
        return " | ".join(map(written, inside))
    raise TypeError(f"no TypeScript for {kind!r}")


def typescript(module: ModuleType = payload) -> str:
    name = module.__name__.rpartition(".")[2]
    parts = [f"// Made from tvmlab/view/{name}.py by `python -m tests.payloads`: change it there.\n"]
    taken = [n for n, t in vars(module).items() if n in records(payload) and t is records(payload)[n]]
    if module is payload:
        parts.append(f"export const SCHEMA = {payload.SCHEMA};\n")
    else:
        parts.append(f'import type {{ {", ".join(sorted(taken))} }} from "../view/payload";\n')
    for name, record in records(module).items():
        rows = [
            f"  {n}{'?' if get_origin(kind) is NotRequired else ''}: {written(kind)};"
            for n, kind in fields(record).items()
        ]
        parts.append("\n".join([f"export interface {name} {{", *rows, "}"]) + "\n")
    return "\n".join(parts)


# ---------------------------------------------------------------- as a check


def complaints(value: Any, kind: Any, at: str = "") -> list[str]:
    """Where a value is not what the contract says; empty when it keeps it."""
    origin, inside = get_origin(kind), get_args(kind)
    if kind is Any:
        return []
    if origin is NotRequired:
        return complaints(value, inside[0], at)
    if is_record(kind):
        return _of_record(value, kind, at)
    if origin is Literal:
        return [] if value in inside else [f"{at}: {value!r} is none of {inside}"]
    if origin in (Union, types.UnionType):
        return [] if any(not complaints(value, k, at) for k in inside) else [f"{at}: {value!r} is not {written(kind)}"]
    if origin in (list, tuple):
        return _of_list(value, origin, inside, at)
    if origin is dict:
        if not isinstance(value, dict) or not all(isinstance(k, inside[0]) for k in value):
            return [f"{at}: {value!r}"]
        return [c for k, v in value.items() for c in complaints(v, inside[1], f"{at}.{k}")]
    good = isinstance(value, (int, float) if kind is float else kind) and (kind is bool or not isinstance(value, bool))
    return [] if good else [f"{at}: {value!r} is not {written(kind)}"]


def _of_record(value: Any, kind: Any, at: str) -> list[str]:
    if not isinstance(value, dict):
        return [f"{at}: {value!r} is no {kind.__name__}"]
    wanted = fields(kind)
    missing = [n for n, k in wanted.items() if n not in value and get_origin(k) is not NotRequired]
    found = [f"{at}: {kind.__name__} lacks {n}" for n in missing]
    found += [f"{at}: {kind.__name__} has no {n}" for n in value if n not in wanted]
    return found + [c for n, v in value.items() if n in wanted for c in complaints(v, wanted[n], f"{at}.{n}")]


def _of_list(value: Any, origin: Any, inside: tuple[Any, ...], at: str) -> list[str]:
    if not isinstance(value, (list, tuple)):
        return [f"{at}: {value!r} is no list"]
    if origin is tuple:
        kinds = inside if len(inside) == len(value) else ()
        if not kinds:
            return [f"{at}: {value!r} has not {len(inside)} elements"]
        return [c for n, (v, k) in enumerate(zip(value, kinds, strict=True)) for c in complaints(v, k, f"{at}[{n}]")]
    return [c for n, v in enumerate(value) for c in complaints(v, inside[0], f"{at}[{n}]")]


if __name__ == "__main__":
    for file, module in FILES.items():
        file.parent.mkdir(exist_ok=True)
        file.write_text(typescript(module), encoding="utf-8")
