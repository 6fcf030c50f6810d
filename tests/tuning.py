"""A small space and tasks over it, for the tests of tuning; also templates that go wrong in every way."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from math import prod
from typing import Any

import tests.jobs  # noqa: F401  # registers the packed functions
from tvmlab import te, tir


@dataclass(frozen=True)
class Config:
    index: int
    entities: tuple[tuple[str, str, Any], ...]

    def to_json(self) -> list[list[Any]]:
        return [list(e) for e in self.entities]

    def __getitem__(self, name: str) -> Any:
        return next(v for n, _, v in self.entities if n == name)


@dataclass(frozen=True)
class Space:
    knobs: dict[str, Any]

    @property
    def names(self) -> list[str]:
        return list(self.knobs)

    @property
    def dims(self) -> list[int]:
        return [len(v) for v in self.knobs.values()]

    @property
    def hash(self) -> str:
        return hashlib.sha256(json.dumps([self.names, self.dims]).encode()).hexdigest()[:12]

    def __len__(self) -> int:
        return prod(self.dims)

    def point2knob(self, point: int) -> list[int]:
        found = []
        for n in self.dims:
            found.append(point % n)
            point //= n
        return found

    def knob2point(self, knob: list[int]) -> int:
        point = 0
        for k, n in zip(reversed(knob), reversed(self.dims), strict=True):
            point = point * n + k
        return point

    def get(self, index: int) -> Config:
        if not 0 <= index < len(self):
            raise IndexError(f"the space has no point {index}")
        picks = zip(self.knobs.items(), self.point2knob(index), strict=True)
        return Config(index, tuple((name, "ot", values[k]) for (name, values), k in picks))


@dataclass(frozen=True)
class Task:
    """`template(config, *args) -> (schedule, tensors)`."""

    template: Any
    space: Space
    args: tuple[Any, ...] = ()
    name: str = "test/task"
    target: str = "llvm"
    flop: float = 0.0
    made: list[int] = field(default_factory=list, compare=False)

    def instantiate(self, config: Config) -> tuple[Any, list[Any]]:
        self.made.append(config.index)
        return self.template(config, *self.args)


def declared(n: int) -> list[Any]:
    a, b = te.placeholder((n, n), name="A"), te.placeholder((n, n), name="B")
    k = te.reduce_axis((0, n), name="k")
    return [a, b, te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")]


def tiled(config: Config, n: int) -> tuple[Any, list[Any]]:
    a, b, c = declared(n)
    s = te.create_schedule(c.op)
    (i, j), (k,) = s[c].op.axis, s[c].op.reduce_axis
    io, ii = s[c].split(i, config["y"])
    jo, ji = s[c].split(j, config["x"])
    ko, ki = s[c].split(k, config["k"])
    s[c].reorder(io, jo, ko, ki, ii, ji)
    s[c].vectorize(ji)
    if config["parallel"]:
        s[c].parallel(io)
    return s, [a, b, c]


def matmul(n: int = 32, **knobs: Any) -> Task:
    space = {"y": (1, 2, 4, 8, 16), "x": (4, 8, 16, 32), "k": (1, 2, 4, 8), "parallel": (0, 1)}
    return Task(tiled, Space({**space, **knobs}), (n,), "test/matmul", flop=2.0 * n**3)


def calls(which: dict[int, str], points: int = 4) -> Task:
    """Doubles a vector, in a loop split by the point; at some points by a function that crashes, hangs or is wrong."""

    def template(config: Config) -> tuple[Any, list[Any]]:
        a = te.placeholder((64,), name="A")
        b = te.compute((64,), lambda i: a[i] * 2.0, name="B")
        s = te.create_schedule(b.op)
        outer, inner = s[b].split(b.op.axis[0], 2 ** (config["p"] + 1))
        name = which.get(config["p"])
        if name is not None:
            s[b].tensorize(inner, does(name, 2 ** (config["p"] + 1)))
        return s, [a, b]

    return Task(template, Space({"p": tuple(range(points))}), (), "test/calls")


def does(name: str, n: int) -> Any:
    """An intrinsic that doubles, so it says; what it does is call a packed function."""
    x = te.placeholder((n,), name="x")
    y = te.compute((n,), lambda i: x[i] * 2.0, name="y")

    def body(ins: Any, outs: Any) -> Any:
        ib = tir.ir_builder.create()
        ib.emit(tir.call_packed(name, ins[0], outs[0]))
        return ib.get()

    return te.decl_tensor_intrin(y.op, body, name=name.replace(".", "_"))
