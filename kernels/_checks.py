"""Do the shapes that an operator is given go together? Symbolic extents are not refused: they may."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvmlab.error import ShapeError


def known(extent: Any) -> int | None:
    """The extent as a number; None when it is symbolic."""
    value = getattr(extent, "value", extent)
    return value if isinstance(value, int) else None


def shown(shape: Sequence[Any]) -> str:
    return f"({', '.join(str(n) if known(n) is None else str(known(n)) for n in shape)})"


def need_dims(operator: str, argument: str, tensor: Any, names: str) -> None:
    """`names`: what the dimensions are, one word each."""
    want = names.split()
    if len(tensor.shape) != len(want):
        raise ShapeError(
            "operator-dimensions",
            f"{operator}: {argument} has the shape {shown(tensor.shape)}, it needs {len(want)} dimensions: "
            f"({', '.join(want)})",
        )


def need_equal(operator: str, left: str, m: Any, right: str, n: Any) -> None:
    """`left`, `right`: what the two extents are, such as `data's channels (dimension 1)`."""
    if known(m) is not None and known(n) is not None and known(m) != known(n):
        raise ShapeError("operator-shapes", f"{operator}: {left}: {known(m)}, but {right}: {known(n)}")


def need_groups(operator: str, channels: Any, taken: Any, out: Any, groups: int, at: tuple[int, int, int]) -> None:
    """data has `channels`, the kernel takes `taken` and gives `out`; `at`: the dimensions these three are."""
    data, inner, outer = f"data's channels (dimension {at[0]})", f"kernel (dimension {at[1]})", at[2]
    if groups < 1:
        raise ShapeError("operator-groups", f"{operator}: groups must be at least 1, not {groups}")
    c, i, o = known(channels), known(taken), known(out)
    for n, what in ((c, data), (o, f"kernel's outputs (dimension {outer})")):
        if n is not None and n % groups:
            raise ShapeError("operator-groups", f"{operator}: {what}: {n}, which is no multiple of groups={groups}")
    if c is not None and i is not None and c != i * groups:
        each = "" if groups == 1 else f" in each of {groups} groups"
        raise ShapeError("operator-shapes", f"{operator}: {data}: {c}, but the {inner} takes {i}{each}")


def need_window(
    operator: str, letters: str, sizes: Sequence[Any], before: Sequence[Any], after: Sequence[Any],
    windows: Sequence[Any],
) -> None:  # fmt: skip
    """The (dilated) kernel fits into the padded data, along each of the dimensions `letters`."""
    for letter, n, b, a, w in zip(letters, sizes, before, after, windows):
        numbers = [known(x) for x in (n, b, a, w)]
        if None in numbers:
            continue
        size, left, right, window = [x or 0 for x in numbers]
        if window > size + left + right:
            raise ShapeError(
                "operator-window",
                f"{operator}: the kernel reaches over {window} along {letter}, data with padding has "
                f"{size + left + right} ({left} + {size} + {right})",
                hint="give more padding, or a smaller kernel or dilation",
            )
