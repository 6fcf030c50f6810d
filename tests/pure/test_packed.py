"""The table of packed functions."""

import numpy as np
import pytest

from tvmlab.core import packed
from tvmlab.core.error import TVMError
from tvmlab.runtime import array, get_global_func, list_global_func_names, register_func, remove_global_func


@pytest.fixture
def table(monkeypatch):
    monkeypatch.setattr(packed, "_TABLE", {})


def test_three_ways_to_register(table):
    @register_func
    def one():
        return 1

    @register_func("my.two")
    def two():
        return 2

    three = register_func("my.three", lambda: 3)
    assert list_global_func_names() == ["my.three", "my.two", "one"]
    assert [get_global_func(n)() for n in ("one", "my.two", "my.three")] == [1, 2, 3]
    assert (one(), two(), three()) == (1, 2, 3)


def test_a_name_is_taken_once(table):
    register_func("f", lambda: 1)
    with pytest.raises(TVMError) as e:
        register_func("f", lambda: 2)
    assert str(e.value) == "global function `f` is already registered; override=True replaces it"
    register_func("f", lambda: 2, override=True)
    assert get_global_func("f")() == 2


def test_running_a_cell_again_replaces_its_function(table):
    def cell(result):
        @register_func("f")
        def f():
            return result

    cell(1)
    cell(2)
    assert get_global_func("f")() == 2


def test_missing(table):
    register_func("f", lambda: 1)
    with pytest.raises(ValueError) as e:
        get_global_func("g")
    expected = "cannot find global function `g`\n  legal here:  f\n  to add one:  @tvmlab.register_func(name)"
    assert str(e.value) == expected
    assert get_global_func("g", allow_missing=True) is None
    remove_global_func("f")
    assert list_global_func_names() == []


def test_classic_body_runs_on_what_programs_pass(table):
    @register_func("tvm.contrib.my_tvm_addone")
    def addone(x, y):
        array(x.asnumpy() + 1).copyto(y)

    x, y = np.arange(3, dtype="float32"), np.zeros(3, "float32")
    packed.call("tvm.contrib.my_tvm_addone", [x, y])
    assert y.tolist() == [1, 2, 3]
