"""A session in order: files, arrays, programs, times; what is refused leaves it usable."""

from pathlib import Path

import numpy as np
import pytest

import tvmlab as tvm
from tests.refusal import refused
from tests.rpc.peers import floats, load
from tvmlab import nd, rpc
from tvmlab.core.error import CallError, MissingName


def test_a_program_is_uploaded_loaded_called_and_timed(place, remote):
    f = load(remote, place.matmul())
    x, y = floats(33, 33), floats(33, 33) + 1
    a, b, c = (nd.array(v, remote.cpu()) for v in (x, y, np.zeros_like(x)))
    f(a, b, c)
    np.testing.assert_allclose(c.numpy(), x @ y, rtol=1e-5)
    f.set_num_threads(1)
    found = f.time_evaluator(f.entry_name, remote.cpu(), number=3, repeat=4, cache_flush_bytes=1 << 16)(a, b, c)
    assert len(found.results) == 4 and found.number == 3 and found.min > 0
    assert f["mm"] == f.get_function("mm") and "remote[" in repr(f)
    assert "unknown function" in str(refused(MissingName, lambda: f["nn"])).replace("no function", "unknown function")


def test_arrays_of_every_kind_come_back_as_they_went(remote):
    for dtype in ("float32", "float64", "float16", "int8", "uint8", "int32", "uint64", "bool"):
        x = (floats(5, 7) * 3).astype(dtype)
        a = nd.array(x, remote.cpu())
        assert a.shape == (5, 7) and a.dtype == dtype and np.array_equal(a.numpy(), x)
    large = np.arange(300_000, dtype="int32")  # several frames
    a = nd.array(large, remote.cpu())
    assert np.array_equal(a.numpy(), large)
    a[:] = large[::-1]
    assert np.array_equal(np.asarray(a), large[::-1])
    b = a.copyto(remote.cpu())
    assert b.number != a.number and np.array_equal(b.copyto(tvm.cpu(0)).numpy(), large[::-1])
    assert nd.empty((0, 3), "float32", remote.cpu()).numpy().shape == (0, 3)


def test_numbers_of_every_type_reach_a_c_function(place, remote):
    f = load(remote, place.bad("fill"))
    a = nd.empty((9,), "float32", remote.cpu())
    f(a, 0.1, 1.25, -4, 250)
    np.testing.assert_array_equal(a.numpy(), np.full(9, np.float32(0.1) + np.float32(1.25) * -4 + 250, "float32"))


def test_a_function_that_fails_says_its_status_and_the_session_goes_on(place, remote):
    f = load(remote, place.bad("refuse"))
    a = nd.array(floats(4), remote.cpu())
    assert refused(rpc.RPCError, lambda: f(a)) == "refuse failed with status 7"
    assert np.array_equal(a.numpy(), floats(4))


def test_files(remote, tmp_path):
    data = bytes(range(256)) * 2000
    remote.upload(data, "some.bin")
    (tmp_path / "other.txt").write_text("hello")
    remote.upload(tmp_path / "other.txt")
    assert sorted(remote.listdir()) == ["other.txt", "some.bin"] and remote.download("some.bin") == data
    remote.upload(b"", "some.bin")
    assert remote.download("some.bin") == b""
    remote.remove("some.bin")
    assert remote.listdir() == ["other.txt"]
    assert "no file some.bin" in refused(rpc.RPCError, lambda: remote.download("some.bin"))
    assert "no file" in refused(rpc.RPCError, lambda: remote.upload(tmp_path / "nothing"))
    assert refused(rpc.RPCError, lambda: remote.upload(b"x")).startswith("bytes need a name")


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "a/b", "..", ".", ".hidden", "", "a\\b", "x" * 300, "a\0b"])
def test_no_file_outside_the_folder_of_the_session(remote, name):
    for ask in (lambda: remote.upload(b"x", name), lambda: remote.download(name), lambda: remote.remove(name)):
        with pytest.raises(rpc.RPCError) as e:
            ask()
        assert e.value.rule == "file-name"
    assert remote.listdir() == []


def test_sessions_have_folders_of_their_own_and_their_arrays_do_not_mix(place, remote):
    f = load(remote, place.matmul())
    with place.connect() as other:
        assert other.listdir() == []
        a, b = nd.array(floats(33, 33), remote.cpu()), nd.array(floats(33, 33), other.cpu())
        said = refused(CallError, lambda: f(a, a, b))
        here, there = remote.number, other.number
        assert said.startswith(f"argument 2 (C) is on remote[{there}]:cpu(0), the module is of another session, "
                               f"remote[{here}]\n")  # fmt: skip
        assert "not on remote" in refused(tvm.runtime.DeviceError, lambda: f.time_evaluator("mm", other.cpu()))
    assert "is here, the module runs on" in refused(CallError, lambda: f(a, a, floats(33, 33)))
    assert "given twice" in refused(CallError, lambda: f(a, a, a))
    wrong = nd.array(floats(3, 3), remote.cpu())
    assert "shape[0] is 3, expected 33" in refused(CallError, lambda: f(a, a, wrong))


def test_an_array_of_another_machine_is_no_argument_of_a_program_here(remote):
    a = nd.array(floats(4), remote.cpu())
    A = tvm.te.placeholder((4,), name="A")
    B = tvm.te.compute((4,), lambda i: A[i] + 1.0, name="B")
    f = tvm.build(tvm.te.create_schedule(B.op), [A, B], "interp")
    said = refused(CallError, lambda: f(a, np.zeros(4, "float32")))
    assert said.splitlines() == [f"argument 0 (A) is on {a.device}, the module runs on cpu",
                                 "  pass A.numpy(), or nd.array(A, cpu(0))"]  # fmt: skip


def test_memory_that_is_not_there_is_refused_and_the_session_goes_on(remote):
    assert "not that much memory" in refused(rpc.RPCError, lambda: nd.empty((1 << 27,), "uint8", remote.cpu()))
    for _ in range(200):  # what nobody refers to is given back
        nd.empty((1 << 20,), "float32", remote.cpu())
    assert np.array_equal(nd.array(floats(3), remote.cpu()).numpy(), floats(3))


def test_a_library_of_another_machine_is_refused(place, remote, tmp_path):
    other = "aarch64" if place.arch == "x86_64" else "x86_64"
    image = bytearray(Path(place.bad("fill")).read_bytes())
    image[18:20] = (183 if other == "aarch64" else 62).to_bytes(2, "little")
    path = tmp_path / "fill.so"
    path.write_bytes(image)
    (tmp_path / "fill.so.json").write_text(Path(place.bad("fill") + ".json").read_text())
    said = refused(rpc.RPCError, lambda: load(remote, path))
    assert said == f"cannot load fill.so: it is for {other}, this machine is {place.arch}"
    path.write_bytes(b"garbage, no library at all")
    assert refused(rpc.RPCError, lambda: load(remote, path)) == "cannot load fill.so: it is no shared library"
    path.write_bytes(image[:200])
    assert "cannot load fill.so" in refused(rpc.RPCError, lambda: load(remote, path))
    assert remote.alive


def test_a_program_uploaded_again_is_the_new_one(place, remote):
    load(remote, place.matmul(33))
    path = place.matmul(8)
    for suffix in ("", ".json"):
        remote.upload(Path(f"{path}{suffix}").read_bytes(), f"mm33.so{suffix}")
    f = remote.load_module("mm33.so")
    a, c = nd.array(floats(8, 8), remote.cpu()), nd.empty((8, 8), "float32", remote.cpu())
    f(a, a, c)
    np.testing.assert_allclose(c.numpy(), floats(8, 8) @ floats(8, 8), rtol=1e-5)


def test_what_is_needed_beside_a_library(place, remote, tmp_path):
    path = place.matmul()
    remote.upload(path.read_bytes(), "bare.so")
    assert "needs bare.so.json beside it" in refused(rpc.RPCError, lambda: remote.load_module("bare.so"))
    assert "no file none.so" in refused(rpc.RPCError, lambda: remote.load_module("none.so"))
    assert "create_shared" in refused(rpc.RPCError, lambda: remote.load_module("f.o"))
    card = Path(f"{path}.json").read_text()
    remote.upload(card.replace('"symbol": "mm"', '"symbol": "nn"').encode(), "bare.so.json")
    assert "no function `nn`" in refused(rpc.RPCError, lambda: remote.load_module("bare.so"))
    evil = card.replace('"shape": [\n', '"shape": [\n"().__class__", ', 1)
    assert evil != card
    remote.upload(evil.encode(), "bare.so.json")
    assert "is no dimension" in refused(Exception, lambda: remote.load_module("bare.so"))


def test_devices_and_functions_that_are_not_there_say_so(remote):
    assert "cuda(0) of another machine cannot be used yet" in refused(rpc.RPCError, lambda: remote.cuda(0))
    assert "no function" in refused(rpc.RPCError, lambda: remote.get_function("nothing.there")(1, "x"))
    assert remote.device("llvm") == remote.cpu() == remote.context("cpu", 0) and remote.cpu().exist
    for name in ("Proxy", "PopenSession"):
        with pytest.raises(MissingName):
            getattr(rpc, name)
