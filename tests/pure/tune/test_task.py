"""Templates and tasks, and which configuration a template gets."""

import pickle
import warnings
from pathlib import Path
from types import SimpleNamespace

import pytest

import tvmlab
from tests.refusal import refused
from tvmlab import te, tir, tune
from tvmlab.tune.templates import TEMPLATES


@pytest.fixture(autouse=True)
def templates():
    before = dict(TEMPLATES)
    yield
    TEMPLATES.clear()
    TEMPLATES.update(before)


def declare(n, m, l, dtype="float32"):
    A, B = te.placeholder((n, l), dtype, name="A"), te.placeholder((l, m), dtype, name="B")
    k = te.reduce_axis((0, l), name="k")
    C = te.compute((n, m), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    return A, B, C


def matmul_template():
    @tune.template("test/matmul")
    def matmul(n, m, l, dtype):
        A, B, C = declare(n, m, l, dtype)
        s = te.create_schedule(C.op)
        y, x = s[C].op.axis
        (k,) = s[C].op.reduce_axis
        cfg = tune.get_config()
        cfg.define_split("tile_y", y, num_outputs=2)
        cfg.define_split("tile_x", x, num_outputs=2)
        yo, yi = cfg["tile_y"].apply(s, C, y)
        xo, xi = cfg["tile_x"].apply(s, C, x)
        s[C].reorder(yo, xo, k, yi, xi)
        return s, [A, B, C]

    return matmul


def test_a_task():
    matmul_template()
    task = tune.create("test/matmul", [128, 128, 64, "float32"], "llvm")
    assert (len(task.space), task.flop, str(task.target)) == (64, 2.0 * 128 * 128 * 64, "llvm")
    assert task.workload == ("test/matmul", 128, 128, 64, "float32")
    s, args = task.instantiate(task.space.get(26))
    assert "yo, yi = s[C].split" in s.to_code() and [a.name for a in args] == ["A", "B", "C"]
    assert str(s.check()) == "[]"
    again = pickle.loads(pickle.dumps(task))
    assert again == task and again.space.hash == task.space.hash and again.space.code_hash
    assert task.config_space is task.space


def test_bare_decorators_and_names_that_are_taken():
    @tune.template
    def bare(n):
        A, B, C = declare(n, n, n)
        return te.create_schedule(C.op), [A, B, C]

    assert len(tune.create("bare", [4], "llvm").space) == 1
    assert len(tune.create(bare, [4], "llvm").space) == 1

    def other(n):
        return bare.function(n)

    assert "there is a template 'bare' already" in refused(ValueError, lambda: tune.template("bare")(other))


def test_positional_arguments_only():
    matmul = matmul_template()
    assert refused(AssertionError, lambda: matmul(8, 8, 8, dtype="float32")).startswith(
        "the template test/matmul takes positional arguments only, not dtype="
    )


def test_an_unknown_template():
    matmul_template()
    said = refused(RuntimeError, lambda: tune.create("test/matmull", [8], "llvm")).splitlines()
    assert said[0] == "there is no template 'test/matmull'"
    assert "test/matmul" in said[1].removeprefix("  legal here:  ").split(", ")  # and those of other tests
    assert said[2] == "  templates are found once the module that defines them is imported"
    task = tune.Task("nobody/wrote/this", [8], "llvm")  # as records of others are read
    refused(RuntimeError, lambda: task.func(8))


def test_tensors_as_arguments():
    @tune.template("test/scale")
    def scale(A, by):
        B = te.compute(A.shape, lambda i: A[i] * by, name="B")
        return te.create_schedule(B.op), [A, B]

    task = tune.create("test/scale", [te.placeholder((16,), name="A"), 2.0], "llvm")
    assert task.workload == ("test/scale", ("TENSOR", (16,), "float32"), 2.0)
    again = pickle.loads(pickle.dumps(task))
    assert again.workload == task.workload and again.flop == 16.0
    assert "are numbers, words, lists and tensors" in refused(TypeError, lambda: tune.Task("x", [object()]).workload)


def test_an_invalid_configuration_and_one_that_is_refused():
    @tune.template("test/picky")
    def picky(n):
        A, B, C = declare(n, n, n)
        s = te.create_schedule(C.op)
        cfg = tune.get_config()
        cfg.define_knob("what", ["fine", "said", "refused"])
        if cfg["what"].val == "said":
            cfg.raise_error("too wide")
        if cfg["what"].val == "refused":
            s[C].vectorize(s[C].op.reduce_axis[0])
        return s, [A, B, C]

    task = tune.create("test/picky", [4], "llvm")
    task.instantiate(task.space.get(0))
    assert refused(ValueError, lambda: task.instantiate(task.space.get(1))) == "too wide"
    text = refused(tune.InstantiationError, lambda: task.instantiate(task.space.get(2)))
    assert text.startswith("cannot vectorize `k` in stage C\n    line ")
    assert "of picky:  s[C].vectorize(s[C].op.reduce_axis[0])" in text and "carries a reduction" in text
    assert task.instantiate(task.space.get(0))


def test_a_template_that_raises_shows_its_line():
    @tune.template("test/broken")
    def broken(n):
        cfg = tune.get_config()
        cfg.define_knob("u", [1])
        return 1 // 0

    with pytest.raises(ZeroDivisionError) as caught:
        tune.create("test/broken", [4], "llvm")
    first, second = caught.value.__notes__
    assert first.endswith("of broken:  return 1 // 0")
    assert second == "while the template 'test/broken' was run to collect its choices"

    @tune.template("test/empty")
    def empty(n):
        tune.get_config().define_knob("u", [1])

    assert "gives None, not (schedule, [tensors])" in refused(TypeError, lambda: tune.create("test/empty", [4], "llvm"))

    @tune.template("test/missing")
    def missing(n):
        tune.get_config().define_knob("u", [1])
        return tune.get_config()["v"]

    assert "legal here:  u" in refused(KeyError, lambda: tune.create("test/missing", [4], "llvm"))


# ---------------------------------------------------------------- contexts


def recorded(task, index, cost, error_no=0, target="llvm"):
    given = SimpleNamespace(target=tvmlab.target.Target(target), task=task, config=task.space.get(index))
    return given, SimpleNamespace(costs=[cost], error_no=error_no)


def chosen(matmul, *args):
    s, _ = matmul(*args)
    return s.to_code()


def test_the_best_record_is_applied():
    matmul = matmul_template()
    args = (64, 64, 64, "float32")
    task = tune.create("test/matmul", args, "llvm")
    records = [recorded(task, 3, 0.5), recorded(task, 17, 0.1), recorded(task, 5, 0.01, error_no=4)]
    best = tune.ApplyHistoryBest(records)
    assert best.query("llvm", task.workload).index == 17
    with best, tvmlab.target.Target("llvm"):
        assert chosen(matmul, *args) == task.instantiate(task.space.get(17))[0].to_code()
    with best:
        assert "Need a target context" in refused(RuntimeError, lambda: matmul(*args))
    with best, tvmlab.target.Target("llvm"), pytest.warns(UserWarning, match="Cannot find config"):
        matmul(32, 32, 32, "float32")


def test_a_fixed_configuration():
    matmul = matmul_template()
    task = tune.create("test/matmul", [64, 64, 64, "float32"], "llvm")
    config = task.space.get(9)
    with tune.ApplyFixedConfig({"test/matmul": config}):
        assert chosen(matmul, 64, 64, 64, "float32") == task.instantiate(config)[0].to_code()
    with tune.ApplyConfig(config):
        assert tune.get_config() is config
    with tune.ApplyFixedConfig([task], "other"), pytest.warns(UserWarning):
        matmul(16, 16, 16, "float32")


def test_the_fallback_warns_once_for_each_workload():
    matmul = matmul_template()
    with tvmlab.target.Target("llvm"):
        with pytest.warns(UserWarning, match=r"target=llvm, workload=\('test/matmul', 24, 24, 24, 'float32'\)"):
            s, _ = matmul(24, 24, 24, "float32")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            matmul(24, 24, 24, "float32")
        with pytest.warns(UserWarning):
            matmul(24, 24, 25, "float32")


def test_fallback_split():
    cfg = tune.FallbackConfigEntity()
    cfg.define_split("a", 128, num_outputs=3)
    cfg.define_split("b", 49, num_outputs=3)
    for name in "ab":
        cfg.fallback_split(name, [-1, 8, 4])
    assert (cfg["a"].size, cfg["b"].size, cfg.is_fallback) == ([4, 8, 4], [7, 7, 1], True)
    cfg["u"] = tune.OtherOptionEntity(7)
    cfg.define_knob("u", [1, 2])
    assert cfg["u"].val == 7
    assert "no split 'c'" in refused(RuntimeError, lambda: cfg.fallback_split("c", [-1, 8]))
    refused(AssertionError, lambda: cfg.fallback_split("a", [-1, 8]))


def test_fallback_with_a_reference_log():
    matmul_template()
    tasks = [tune.create("test/matmul", [n, n, 8, "float32"], "llvm") for n in (7 * 9, 64)]
    log = [recorded(t, t.space.knob2point([2, 3]), 1.0) for t in tasks]
    cfg = tune.FallbackConfigEntity()
    for name in ("tile_y", "tile_x"):
        cfg.define_split(name, 32, num_outputs=2)
    cfg.fallback_with_reference_log(log)
    assert (cfg["tile_y"].size, cfg["tile_x"].size) == ([8, 4], [4, 8])
    cfg.fallback_with_reference_log([])


# ---------------------------------------------------------------- operations


def test_flop():
    A, B, C = declare(8, 4, 16)
    D = te.compute((8, 4), lambda i, j: te.if_then_else(i < j, te.exp(C[i, j] * 2.0), C[i + 1 - 1, j]), name="D")
    s = te.create_schedule(D.op)
    assert tune.compute_flop(s) == 8 * 4 * 16 * 2 + 8 * 4 * 2
    either = lambda i, j: tir.Select(i < j, C[i, j] * 2.0, C[i, j] + C[j, j] + 1.0)
    E = te.compute((8, 4), either, name="E")
    assert tune.compute_flop(te.create_schedule(E.op)) == 8 * 4 * 16 * 2 + 8 * 4 * 3
    n = te.var("n")
    P = te.placeholder((n,), name="P")
    Q = te.compute((n,), lambda i: P[i] + 1.0, name="Q")
    assert refused(RuntimeError, lambda: tune.compute_flop(te.create_schedule(Q.op))) == (
        "the operations of this schedule cannot be counted: the length of `i` is not a number. Say how many there "
        "are: cfg.add_flop(...)"
    )
    T = te.compute((4, 8), lambda i, j: A[j, i], name="T")
    assert "there is no operation to count" in refused(
        RuntimeError, lambda: tune.compute_flop(te.create_schedule(T.op))
    )


def test_added_flop():
    @tune.template("test/copy")
    def copy(n):
        A = te.placeholder((n,), name="A")
        B = te.compute((n,), lambda i: A[n - 1 - i], name="B")
        tune.get_config().add_flop(n)
        return te.create_schedule(B.op), [A, B]

    assert tune.create("test/copy", [100], "llvm").flop == 100.0


def test_every_public_name_is_in_the_documentation():
    text = (Path(__file__).parents[3] / "docs" / "tuning.md").read_text()
    assert [name for name in tune._WHERE if f"`{name}`" not in text] == []
