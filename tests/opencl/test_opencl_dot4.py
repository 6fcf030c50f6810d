"""`dot4` in OpenCL C, on a device: every pair of signs, lane counts and forms, to the bit what the interpreter has."""

import numpy as np

from tests import kernels
from tests.opencl import pocl
from tvmlab.lowering import passes
from tvmlab.target.clike import helpers

CASES = [
    (n, *signs, shared, form)
    for n in (1, 4, 16)
    for signs in kernels.SIGNS
    for shared in (False, True)
    for form in (kernels.FORMS if signs == ("uint8", "int8") else ("plain",))
    if n > 1 or not shared
]


def wrong(cases):
    """The cases that differ, in one child."""
    made = [(kernels.dots(*case), kernels.dots_arrays(*case[:4])) for case in cases]
    split = passes.get("split_host_device")
    found = pocl.run([pocl.job(split(program), given) for program, given in made])
    return [
        (case, result)
        for case, (program, given), result in zip(cases, made, found, strict=True)
        if isinstance(result, str) or result["C"].tobytes() != kernels.dots_wanted(program, given).tobytes()
    ]


def test_what_the_interpreter_has():
    assert wrong(CASES) == []


def test_a_helper_that_does_not_wrap_is_found(monkeypatch):
    """A sum of 64 bits that is made to fit."""
    text = helpers.SIGNED["dot4"].replace("({T})(({U})c", "convert_int_sat((long)c").replace("({U})(a0", "(a0")
    monkeypatch.setitem(helpers.SIGNED, "dot4", text)
    assert wrong([(1, "uint8", "int8", False, "plain")])


def test_a_tensorized_product():
    s, args = kernels.dots_by_schedule()
    given = kernels.arrays(args)
    expected = kernels.wanted(s, args, given)
    np.testing.assert_array_equal(pocl.results(kernels.split(s, args), given)[-1], expected)
    np.testing.assert_array_equal(expected, given[0].astype("int32") @ given[1].T.astype("int32"))
