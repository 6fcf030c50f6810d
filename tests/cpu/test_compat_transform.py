"""Options and passes under their classic names."""

import numpy as np
import pytest

import tvmlab as tvm
from tvmlab import te
from tvmlab.lowering.config import DEFAULT


def added(n=128):
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] + 1.0, name="B")
    return A, B, te.create_schedule(B.op)


def current():
    from tvmlab.face.api import current_config

    return current_config()


def test_options_reach_lowering_and_end_with_the_block():
    options = {
        "tir.UnrollLoop": {"auto_max_step": 16, "explicit_unroll": False},
        "tir.LoopPartition": {"partition_const_loop": False},
        "tir.InjectDoubleBuffer": {"split_loop": 2},
        "tir.disable_vectorize": True,
        "tir.disable_storage_rewrite": True,
        "tir.noalias": True,
    }
    with tvm.transform.PassContext(opt_level=3, config=options, disabled_pass=["tir.UnrollLoop", "double_buffer"]) as c:
        made = current()
        assert tvm.transform.PassContext.current() is c and c.opt_level == 3
    assert (made.auto_unroll_max_step, made.partition_const_loop, made.split_loop) == (16, False, 2)
    assert (made.vectorize, made.reuse_storage) == (False, False)
    assert made.disabled == {"unroll_loops", "double_buffer"}
    assert current() == DEFAULT


def test_release_06_options():
    with tvm.build_config(auto_unroll_max_step=4, unroll_explicit=True, double_buffer_split_loop=2, offset_factor=8):
        made = current()
        buffer = tvm.decl_buffer((4,), name="Ab")
    assert (made.auto_unroll_max_step, made.split_loop, made.offset_factor) == (4, 2, 8)
    assert buffer.offset_factor == 8 and tvm.decl_buffer((4,)).offset_factor == 1


def test_options_nest():
    with tvm.transform.PassContext(config={"tir.UnrollLoop.auto_max_step": 4}):
        with tvm.transform.PassContext(config={"tir.disable_vectorize": True}):
            assert (current().auto_unroll_max_step, current().vectorize) == (4, False)
        assert current().vectorize


@pytest.mark.parametrize(
    "attempt",
    [
        lambda: tvm.transform.PassContext(config={"tir.UnrolLoop": {}}),
        lambda: tvm.transform.PassContext(config={"tir.UnrollLoop": {"max_steps": 1}}),
        lambda: tvm.build_config(unroll_everything=True),
    ],
)
def test_unknown_options_list_those_that_exist(attempt):
    with pytest.raises(ValueError, match="there is no option `") as caught:
        attempt()
    assert any("auto" in name for name in caught.value.legal) and len(caught.value.legal) > 10


def test_an_option_without_a_meaning_here_says_so():
    A, B, s = added()
    checks = tvm.transform.PassContext(config={"tir.instrument_bound_checkers": True})
    with checks, pytest.warns(UserWarning, match="code for llvm does not check bounds; these targets do: cuda, cuda_c"):
        tvm.build(s, [A, B], "llvm")
    with pytest.warns(UserWarning, match="no asynchronous copy"):
        tvm.transform.PassContext(config={"tir.use_async_copy": True})


@pytest.mark.parametrize("phase", [0, 1, 2, 3, 7])
def test_a_pass_of_ones_own_runs_in_each_phase(phase):
    seen = []

    @tvm.tir.transform.prim_func_pass(opt_level=0)
    def look(f, mod, ctx):
        tvm.tir.stmt_functor.post_order_visit(f.body, lambda n: seen.append(n) if isinstance(n, tvm.tir.For) else None)
        return f

    A, B, s = added()
    with tvm.transform.PassContext(config={"tir.add_lower_pass": [(phase, look)]}):
        tvm.lower(s, [A, B])
    assert len(seen) == 1


def split_by_eight(stmt):
    """Release 0.6's kind of pass: statement -> statement."""

    def split(loop):
        outer, inner = tvm.var(loop.loop_var.name + "_o"), tvm.var(loop.loop_var.name + "_i")
        body = tvm.ir_pass.Substitute(loop.body, {loop.loop_var: outer * 8 + inner})
        body = tvm.make.For(inner, 0, 8, tvm.tir.ForKind.VECTORIZED, body)
        return tvm.make.For(outer, 0, loop.extent.value // 8, tvm.tir.ForKind.SERIAL, body)

    return tvm.ir_pass.IRTransform(stmt, None, split, ["For"])


def test_a_pass_changes_the_program_and_the_result_stays():
    A, B, s = added()
    with tvm.build_config(add_lower_pass=[(1, split_by_eight)]):
        text = str(tvm.lower(s, [A, B], simple_mode=True))
        f = tvm.build(s, [A, B], "llvm")
    assert "for i_o in range(16):\n        B[i_o*8:i_o*8 + 8] = A[i_o*8:i_o*8 + 8] + 1.0" in text
    b = np.zeros(128, "float32")
    f(np.ones(128, "float32"), b)
    assert list(b) == [2.0] * 128


def test_passes_are_functions_of_programs():
    A, B, s = added(16)
    s[B].vectorize(s[B].op.axis[0])
    nest = te.schedule.ScheduleOps(s, te.schedule.InferBound(s))
    assert nest.kind == "vectorized"
    assert isinstance(tvm.ir_pass.VectorizeLoop(nest), tvm.tir.BufferStore)
    both = tvm.transform.Sequential([tvm.tir.transform.Simplify(), tvm.tir.transform.VectorizeLoop(True)])
    assert str(both(nest)) == str(tvm.tir.transform.VectorizeLoop()(nest))
    with pytest.raises(AttributeError, match="there is no tir.transform.Vectorise\n.*tir.transform.VectorizeLoop"):
        tvm.tir.transform.Vectorise  # noqa: B018


def test_module_pass_and_decorated_classes():
    @tvm.transform.module_pass(opt_level=0)
    class Count:
        def __init__(self):
            self.seen = 0

        def transform_module(self, mod, ctx):
            self.seen += 1
            return mod

    A, B, s = added()
    mod = tvm.lower(s, [A, B])
    assert Count()(mod) is mod


def test_stmt_functor():
    i, j, n = te.var("i"), te.var("j"), te.var("n")
    e = (i + j) * n
    order = []
    tvm.tir.stmt_functor.post_order_visit(e, order.append)
    assert order[-1] is e and order[:2] == [i, j]
    assert str(tvm.tir.stmt_functor.substitute(e, {i: 3, n: j})) == "(3 + j)*j"
    doubled = tvm.tir.stmt_functor.ir_transform(e, lambda v: v * 2 if v is n else None, None, ["tir.Var"])
    assert str(doubled) == "(i + j)*(n*2)"


def test_simplify_and_analyzer():
    x, y = te.var("x"), te.var("y")
    assert tvm.ir_pass.Simplify(x * 4 // 2 - x * 2 + 3).value == 3
    assert tvm.ir_pass.Equal(x + y, x + y) and not tvm.ir_pass.Equal(x + y, y + x)
    a = tvm.arith.Analyzer()
    assert not a.can_prove(x < 10)
    a.bind(x, tvm.Range(0, 8))
    assert a.can_prove(x < 10) and a.can_prove_equal(x // 8, 0)
    assert str(a.simplify(x % 8 + y - y)) == "x"
    bound = a.const_int_bound(x * 2 + 1)
    assert (bound.min_value, bound.max_value) == (1, 15)
    a.bind(y, x * 4)
    assert str(a.simplify(y + 1)) == "x*4 + 1"
    assert (a.modular_set(y + 3).coeff, a.modular_set(y + 3).base) == (4, 3)
    c, base = tvm.arith.detect_linear_equation(x * 4 + y + 2, [x])
    assert c.value == 4 and str(base) == "y + 2"
    assert tvm.arith.detect_linear_equation(x * x, [x]) == []
