"""What a loop computes alike in every iteration is computed before it, unless the loop may change it."""

import numpy as np
import pytest

from tests.cpu.ir_samples import buf, load, loop, program, store
from tvmlab.core.node import If, Seq
from tvmlab.runtime.module import rebuild
from tvmlab.target import Target
from tvmlab.target.llvm.steady import hoist

LOOP = [
    "  br label %for1", "for1:", "  %v3 = phi i64 [ 0, %entry ], [ %v9, %for1 ]",
    "  %v4 = load float, ptr %A, align 4", "  %v5 = getelementptr float, ptr %B, i64 %v3",
    "  %v6 = load float, ptr %v5, align 4", "  %v7 = fmul float %v4, %v4", "  %v8 = fadd float %v7, %v6",
    "  store float %v8, ptr %v5, align 4", "  %v9 = add nsw i64 %v3, 1",
]  # fmt: skip


def hoisted(lines, roots):
    """The names computed before the loop."""
    lines = list(lines)
    hoist(lines, 0, roots)
    return [line.split()[0] for line in lines[: lines.index("for1:") - 1]]


class TestText:
    def test_loads_of_other_memory_and_what_follows_from_them(self):
        assert hoisted(LOOP, {"%v5": "%B"}) == ["%v4", "%v7"]

    def test_memory_that_the_loop_stores_to_is_read_again(self):
        assert hoisted(LOOP, {"%v5": "%A"}) == []

    def test_after_a_masked_store(self):
        masked = "  call void @llvm.masked.store.v4f32.p0(<4 x float> %x, ptr align 4 %v5, <4 x i1> %m)"
        lines = [masked if "store float" in line else line for line in LOOP]
        assert hoisted(lines, {"%v5": "%A"}) == [] and hoisted(lines, {"%v5": "%B"}) == ["%v4", "%v7"]

    @pytest.mark.parametrize(
        "line",
        [
            "  call void @llvm.masked.scatter.v4f32.v4p0(<4 x float> %x, <4 x ptr> align 4 %p, <4 x i1> %m)",
            "  %v10 = call i32 @touch(ptr %A)",
            "  call void @touch(ptr %A)",
        ],
    )
    def test_after_a_store_to_anywhere_nothing_is_known_of_memory(self, line):
        assert hoisted([*LOOP, line], {"%v5": "%B"}) == []

    def test_divisions_stay_where_they_are_asked_for(self):
        assert hoisted([*LOOP[:3], "  %v4 = sdiv i64 7, %n", LOOP[-1]], {}) == []


def before_the_loop(module, what):
    text = module.source
    return what in text[: text.index("\nfor")]


def run(body, extent=5):
    """`for i in range(extent): body(A, B, i)` with A = 0, 1, 2, 3 and B = 0: (module, B)"""
    a, b = buf("A", 4), buf("B", 4)
    p = program("loop", (a, b), loop("i", extent, lambda i: body(a, b, i)))
    module = rebuild(p.entry, Target("llvm"))
    result = np.zeros(4, "float32")
    module(np.arange(4, dtype="float32"), result)
    return module, result.tolist()


def test_a_load_that_nothing_changes():
    module, b = run(lambda a, b, i: store(b, 0, load(b, 0) + load(a, 1)))
    assert b == [5, 0, 0, 0] and before_the_loop(module, "load float")


def test_a_load_of_what_the_loop_writes():
    _, b = run(lambda a, b, i: Seq((store(b, 0, load(b, 1) + 1.0), store(b, i, load(b, 0)))), extent=3)
    expected = [0.0] * 4
    for i in range(3):
        expected[0] = expected[1] + 1
        expected[i] = expected[0]
    assert b == expected


def test_a_guarded_load_stays_behind_its_guard():
    module, b = run(lambda a, b, i: If(i > 100, store(b, 0, load(a, 3))))
    assert b == [0] * 4 and not before_the_loop(module, "load float")
