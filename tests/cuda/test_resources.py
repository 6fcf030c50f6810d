"""What NVRTC says of the gallery's kernels: what was predicted of shared memory is what it reports."""

import pytest

import tvmlab
from tests.kernels import staged
from tests.pure.passes.test_split_host_device import chain
from tvmlab import kernels, te
from tvmlab.core.error import BuildError
from tvmlab.kernels import matmul, matmul_f16
from tvmlab.lab.requests import answer
from tvmlab.target.cuda_c import check
from tvmlab.target.gpu import limits

needs_nvrtc = pytest.mark.skipif(bool(check.missing()), reason=f"no NVRTC: {check.missing()}")
GALLERY = {
    "conv2d": {"height": 28, "width": 28, "in_channel": 16, "out_channel": 32, "kernel": 3, "padding": 1},
    "depthwise_conv2d": {"height": 28, "width": 28, "channel": 16, "kernel": 3, "padding": 1},
    "reduction": {"op": "sum", "shape": (64, 1000), "axis": 1},
    "softmax": {"shape": (64, 1000)},
    "transform": {"op": "transpose", "shape": (64, 96), "how": {}},
}


@needs_nvrtc
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_a_matmul(arch):
    s, args = matmul.gpu(m=256, n=256, k=256)
    (found,) = tvmlab.resources(s, args, arch)
    assert (found.kernel, found.threads, found.shared, found.spilled) == ("main_C", 256, 8192, 0)
    assert 16 <= found.registers <= 128 and found.limit == "registers" and found.warps == found.blocks * 8
    assert str(tvmlab.resources(s, args, arch)).splitlines()[0].split("  ")[0] == "kernel"


@needs_nvrtc
@pytest.mark.parametrize("n", [12 << 10, 20 << 10])
def test_shared_memory_that_a_launch_asks_for_is_counted(n):
    (found,) = tvmlab.resources(*staged(n, 128), "sm_90")
    assert found.shared == 4 * n and found.limit == "shared memory"


@needs_nvrtc
def test_tensor_cores():
    """The arrays that tiles are read from lie as ptxas lays them; no fragment is spilled."""
    s, args = matmul_f16.gpu(256, 256, 64)
    (found,) = tvmlab.resources(s, args, "sm_90")
    assert (found.shared, found.spilled, found.threads) == (128 * 80 + 32 * 272 - 16, 0, 256)


@needs_nvrtc
def test_names_beyond_ascii():
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] + 1.0, name="größe")
    (found,) = tvmlab.resources(te.create_schedule(B.op).default("cuda_c"), [A, B])
    assert found.kernel == "main_größe" and found.registers


@needs_nvrtc
@pytest.mark.parametrize("name", GALLERY)
def test_shared_memory_is_as_predicted(name):

    args = kernels.get(name).declare(**GALLERY[name])
    s = kernels.get(name).schedule_gpu([a for a in args if not isinstance(a.op, te.PlaceholderOp)])
    module = tvmlab.build(s, args, "cuda_c")
    reported = {r.kernel: r.shared for r in tvmlab.resources(s, args)}
    program = tvmlab.face.api.for_target(tvmlab.lower(s, args), module.target)
    predicted = {f.name: limits.shared_bytes(f) for f in program.functions[1:]}
    assert reported == predicted and not any(r.spilled for r in tvmlab.resources(s, args))


def test_what_is_refused():
    s, args = matmul.gpu(m=64, n=64, k=64)
    with pytest.raises(BuildError) as e:
        tvmlab.resources(s, args, "sm_70")
    assert str(e.value).splitlines() == [
        "there is no model of the architecture `sm_70` for the target `cuda_c`",
        f"  legal here:  {', '.join(limits.family('sm_80'))}",
    ]
    s, A, B, C = chain()
    with pytest.raises(BuildError, match="B would be computed on the host"):
        tvmlab.resources(s, [A, C])


def test_the_kernels_as_classic_scripts_ask_for_them():
    s, args = matmul.gpu(m=64, n=64, k=64)
    for name in ("cuda", "cuda_c", "opencl", "metal"):
        module = tvmlab.build(s, args, name)
        (kernels_,) = module.imported_modules
        assert kernels_.get_source() == module.source and kernels_.type_key == name
    a = te.placeholder((4,), name="a")
    b = te.compute((4,), lambda i: a[i], name="b")
    assert tvmlab.build(te.create_schedule(b.op), [a, b]).imported_modules == ()


def test_a_text_target_is_read_and_exported_not_called(tmp_path):
    import numpy as np

    s, args = matmul.gpu(m=64, n=64, k=64)
    for name, ending in (("cuda_c", ".cu"), ("metal", ".metal")):
        module = tvmlab.build(s, args, name)
        assert "main_C" in module.source
        module.export(tmp_path / f"k{ending}")
        assert (tmp_path / f"k{ending}").read_text() == module.source
        with pytest.raises(BuildError, match=f"writes {ending} files"):
            module.export(tmp_path / "k.txt")
    with pytest.raises(BuildError, match="^metal is text: "):
        module(*[np.zeros((64, 64), "float32") for _ in range(3)])


@needs_nvrtc
def test_a_lab_finds_it_out_by_itself():
    """The picture is there at once; what the compiler says follows, and views are told."""
    from time import monotonic, sleep

    lab = tvmlab.Lab(*matmul.gpu(m=256, n=256, k=256), target="cuda_c -arch=sm_90")
    ask = {"seq": 1, "kind": "picture", "what": "parallel"}
    try:
        line = answer(lab, ask)["data"]["table"]["rows"][2][0]
        assert line == "ptxas, sm_90: not known; it compiles the kernels now"
        until = monotonic() + 120
        while lab.news == 0 and monotonic() < until:
            sleep(0.05)
        (found,) = tvmlab.resources(*matmul.gpu(m=256, n=256, k=256), "sm_90")
        assert answer(lab, ask)["data"]["table"]["rows"][2][0] == (
            f"ptxas, sm_90: {found.blocks} blocks, {found.warps} of 64 warps ({100 * found.occupancy:.0f} %), limited "
            f"by {found.limit}; {found.registers} registers a thread, 8 KiB of shared memory, no spills"
        )
        assert "registers a thread" in repr(lab.picture("parallel"))
    finally:
        lab.close()
