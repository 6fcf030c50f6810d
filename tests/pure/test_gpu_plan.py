"""A split program's host function as commands, and device code as plain data."""

import pickle
from itertools import islice

import pytest

from tests.loops import alloc, buffer, function, load, loop, store
from tests.pure.passes.test_split_host_device import bind, chain, cut
from tests.refusal import refused
from tvmlab import te
from tvmlab.core.build import const
from tvmlab.core.error import BuildError
from tvmlab.core.node import Call, Evaluate, If, LetStmt, Var
from tvmlab.core.walk import seq
from tvmlab.target.gpu import Allocate, DeviceCode, Free, Launch, commands, device_code, kernel_of

A, B = buffer("A", (8,)), buffer("B", (8,))
n, i = Var("n"), Var("i")


def launch(name, grid, *args):
    dims = [const(d) if isinstance(d, int) else d for d in (*grid, *[1] * (6 - len(grid)))]
    return Evaluate(Call(name, (*dims, *args), "int32", "launch"))


def run(*body, params=(A, B), numbers=()):
    return list(commands(function([*params, *([n] if numbers else [])], seq(*body)), numbers))


def test_a_schedule_becomes_launches_with_memory_between_them():
    s, _, b, c = chain()
    bind(s, b)
    bind(s, c)
    made = cut(s, [chain_input(b), c])
    first, *rest = commands(made.entry, [1000])
    assert first == Allocate(2, 4000, "B")
    assert [str(x) for x in rest[:2]] == ["main_B[(16, 1, 1), (64, 1, 1)]", "main_C[(16, 1, 1), (64, 1, 1)]"]
    assert rest[0].args == (("buffer", 0), ("buffer", 2), ("number", "int32", 1000))
    assert rest[2:] == [Free(2)]
    assert pickle.loads(pickle.dumps(rest)) == rest


def chain_input(t):
    return t.op.inputs[0]


def test_loops_conditions_and_names_of_the_host():
    half = Var("half")
    odd = If((i % 2).equal(1), launch("k", (half,), A.data, i), launch("other", (1,), B.data))
    found = run(LetStmt(half, n // 2, loop(i, n, odd)), numbers=[3])
    assert found == [
        Launch("other", (1, 1, 1), (1, 1, 1), (("buffer", 1),)),
        Launch("k", (1, 1, 1), (1, 1, 1), (("buffer", 0), ("number", "int32", 1))),
        Launch("other", (1, 1, 1), (1, 1, 1), (("buffer", 1),)),
    ]


def test_commands_come_one_at_a_time():
    host = function([A, n], loop(i, n, launch("k", (1,), A.data, i)))
    assert [c.args[1][2] for c in islice(commands(host, [10**12]), 3)] == [0, 1, 2]


@pytest.mark.parametrize("grid", [(0,), (4, 0), (4, 1, 1, 0), (n - 8,)])
def test_an_empty_grid_launches_nothing(grid):
    assert run(launch("k", grid, A.data), numbers=[8]) == []


def test_each_round_of_a_loop_has_memory_of_its_own():
    t = buffer("T", (n,), "float16")
    found = run(loop(i, 2, alloc(t, launch("k", (1,), t.data))), numbers=[6])
    memory = [(type(c).__name__, c.slot) for c in found if not isinstance(c, Launch)]
    assert memory == [("Allocate", 2), ("Free", 2), ("Allocate", 3), ("Free", 3)]
    assert found[0].nbytes == 12 and found[4].args == (("buffer", 3),)


def test_sizes_divide_as_programs_do():
    assert run(launch("k", (n // (n - 7) + 1, n % (n - 7) + 2), A.data), numbers=[7])[0].grid == (1, 2, 1)
    assert run(launch("k", (te.truncdiv(n, 2), n % 4), A.data), numbers=[7])[0].grid == (3, 3, 1)


def test_what_the_host_cannot_do_is_refused():
    said = refused(BuildError, lambda: run(loop(i, 4, store(A, i, 1.0))))
    assert said.startswith("`A[i] = 1.0` would run on the host, which only launches kernels on a device")
    assert 's[C].bind(i, te.thread_axis("blockIdx.x"))' in said
    said = refused(BuildError, lambda: run(If(load(A, 0) > 0.0, launch("k", (1,), A.data))))
    assert said.startswith("`A[0]` decides what is launched, but its value is on the device")
    thread = loop(i, 4, store(A, i, 1.0), thread="threadIdx.x")
    assert "split it first" in refused(BuildError, lambda: run(thread))
    lost = buffer("L", (4,))
    assert "takes `L`, which does not exist" in refused(BuildError, lambda: run(launch("k", (1,), lost.data)))


def test_a_kernel_as_plain_data():
    shared = buffer("S", (32, 4), "float32", scope="shared")
    fn = function([A, B, n], alloc(shared, store(shared, (0, 0), load(A, 0)), store(B, 0, 1.0)), name="k")
    made = kernel_of(fn, "k_1")
    assert made.name == "k_1" and made.shared == 512 and str(made) == "k_1(A, B, n)"
    assert [(p.name, p.buffer, p.written) for p in made.params] == [
        ("A", True, False), ("B", True, True), ("n", False, False),
    ]  # fmt: skip


def test_device_code_crosses_to_another_process():
    s, _, b, c = chain()
    bind(s, b)
    bind(s, c)
    made = cut(s, [chain_input(b), c])
    code = device_code(made, "opencl", "text", {"main_B": "main_B_1"}, places={3: "`i` of stage B"})
    assert pickle.loads(pickle.dumps(code)) == code and code.places[3] == "`i` of stage B"
    assert [k.name for k in code.kernels] == ["main_B_1", "main_C"] and code.kernel("main_C").shared == 0
    assert code.key == DeviceCode("opencl", "text", ()).key != DeviceCode("opencl", "text", (), options=("-w",)).key


def test_a_store_by_another_name_of_the_memory_is_seen():
    t, view = Var("t"), buffer("V", (8,), data=B.data)
    fn = function([B], loop(t, 8, store(view, t, 1.0), thread="threadIdx.x"))
    assert kernel_of(fn).params[0].written
