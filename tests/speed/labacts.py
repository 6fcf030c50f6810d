"""What a person does in a lab whose speed is measured: the same steps, each time with other numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Step:
    """`action` of the actions list on the row `id`, with a value for its first field, or as it is offered."""

    action: str
    id: str
    value: int | None = None


@dataclass(frozen=True, eq=False)
class Work:
    """An operator of the catalogue, and schedules for it of the same form. Hashed as the object it is."""

    name: str
    shape: dict[str, Any]
    factors: tuple[tuple[int, int], ...]
    columns: str  # the loop that becomes vectors
    rows: str
    sums: str
    stage: str
    data: str

    def steps(self, rows: int, columns: int) -> Iterator[Step]:
        """One schedule: ten steps."""
        yield Step("split", self.rows, rows)
        yield Step("split", self.columns, columns)
        yield Step("inward", f"{self.rows}.inner")
        yield Step("vectorize", f"{self.columns}.inner")
        yield Step("parallel", f"{self.rows}.outer")
        yield Step("split", self.sums, 3 if self.name == "conv2d" else 4)
        yield Step("unroll", f"{self.sums}.inner")
        yield Step("unroll", f"{self.rows}.inner")
        yield Step("cache_read", self.data)
        yield Step("compute_at", f"{self.data}.local")


WORKS = (
    Work("matmul", {"m": 512, "n": 512, "k": 512}, ((32, 16), (16, 32), (8, 64), (64, 8), (4, 128)),
         "C.j", "C.i", "C.k", "C", "A"),
    Work("conv2d", {}, ((16, 8), (8, 14), (4, 28), (2, 16), (32, 4)), "conv.x", "conv.f", "conv.rc", "conv", "data"),
)  # fmt: skip


def opened(work: Work) -> Any:
    """A lab of the operator."""
    from tvmlab.lab import workloads
    from tvmlab.lab.app import Lab

    lab, shape = Lab(), workloads.shape(work.name, work.shape)
    return lab.start(workloads.declare(work.name, shape), work.name, shape)


def act(lab: Any, step: Step) -> dict[str, Any]:
    """The step as the browser would ask for it."""
    if step.action == "inward":
        return inward(lab, step)
    lab.selection = [step.id]
    item = next(x for x in lab.actions()["items"] if x["name"] == step.action)
    given = {} if step.value is None else {item["params"][0]["name"]: step.value}
    return {**item["act"], "args": {**item["act"]["args"], **given}}


def inward(lab: Any, step: Step) -> dict[str, Any]:
    """The loop and the one inside it change places."""
    tree = lab.frame["tree"]
    stage = next(r["stage"] for r in tree if r["id"] == step.id)
    ids = [r["id"] for r in tree if r["kind"] == "loop" and r["stage"] == stage]
    at = ids.index(step.id)
    ids[at], ids[at + 1] = ids[at + 1], ids[at]
    return {"primitive": "reorder", "args": {"stage": {"stage": stage}, "axes": [{"axis": i} for i in ids]}}
