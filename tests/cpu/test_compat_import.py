"""`import tvm` resolves to tvmlab, for scripts that cannot be edited."""

import subprocess
import sys
import textwrap

import pytest


def run(tmp_path, script, *args):
    path = tmp_path / "script.py"
    path.write_text(textwrap.dedent(script))
    done = subprocess.run(
        [sys.executable, "-m", "tvmlab.compat", str(path), *args],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_modules_are_those_of_tvmlab(tmp_path):
    out = run(
        tmp_path,
        """
        import sys
        import tvm
        import tvm.te as te
        import tvm.testing
        import tvm.ir.module
        import tvm.te.schedule
        from tvm import te as again
        from tvm.te import schedule
        from tvm.contrib import util, cc, tedd
        from tvm.ir.module import IRModule
        from tvm.tir import stmt_functor
        from tvm.runtime import convert
        import tvmlab
        assert tvm is tvmlab and te is tvmlab.te is again and schedule is te.schedule
        assert tvm.te.__name__ == "tvmlab.te" and tvm.te.__spec__.name == "tvmlab.te"
        print(sys.argv[1:], __name__)
        """,
        "one",
        "two",
    )
    assert out == ["['one', 'two'] __main__"]


def test_a_script_in_each_spelling(tmp_path):
    out = run(
        tmp_path,
        """
        import tvm
        import numpy as np
        from tvm import te
        n = tvm.var("n")
        A = tvm.placeholder((n,), name="A")
        B = te.compute(A.shape, lambda i: A[i] + 1, name="B")
        s = tvm.create_schedule(B.op)
        f = tvm.build(s, [A, B], "llvm")
        a, b = tvm.nd.array(np.arange(3).astype(A.dtype)), tvm.nd.empty((3,))
        f(a, b)
        print(b.asnumpy().tolist())
        """,
    )
    assert out == ["[1.0, 2.0, 3.0]"]


def test_what_is_not_there_can_be_imported_but_not_used(tmp_path):
    out = run(
        tmp_path,
        """
        import tvm
        from tvm import relay, auto_scheduler
        from tvm.contrib import graph_executor, nvcc
        import tvm.relay.testing
        for use in (lambda: relay.build, lambda: auto_scheduler.SearchTask, lambda: relay.testing.resnet):
            try:
                use()
            except AttributeError as e:
                print(str(e).replace(chr(10), " |"))
        """,
    )
    assert out == [
        "relay.build does not exist in tvmlab |  graphs of operators are not there yet: write them with te and topi",
        "auto_scheduler.SearchTask does not exist in tvmlab |"
        "  tune.Task.of(C, [A, B, C], target) gives any expression a space that is searched",
        "relay.testing.resnet does not exist in tvmlab |"
        "  graphs of operators are not there yet: write them with te and topi",
    ]


def test_a_missing_module_is_a_missing_module(tmp_path):
    out = run(
        tmp_path,
        """
        try:
            import tvm.nonsense
        except ModuleNotFoundError as e:
            print(e)
        try:
            from tvm import plaecholder
        except ImportError as e:
            print(e.name)
        """,
    )
    assert out == ["No module named 'tvm.nonsense'", "tvmlab"]


def test_install_and_uninstall():
    from tvmlab import compat

    compat.install()
    compat.install()
    try:
        assert sum(type(f).__module__ == "tvmlab.compat" for f in sys.meta_path) == 1
        import tvm

        import tvmlab

        assert tvm is tvmlab
    finally:
        compat.uninstall()
    assert not [m for m in sys.modules if m == "tvm" or m.startswith("tvm.")]
    with pytest.raises(ModuleNotFoundError):
        import tvm  # noqa: F401


def test_usage():
    done = subprocess.run([sys.executable, "-m", "tvmlab.compat"], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "usage: python -m tvmlab.compat script.py [arguments]" in done.stderr
    done = subprocess.run([sys.executable, "-m", "tvmlab.compat", "no.py"], capture_output=True, text=True, check=False)
    assert "there is no file no.py" in done.stderr
