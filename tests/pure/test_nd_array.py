"""Devices and arrays of the classic API."""

import pickle

import numpy as np
import pytest

from tvmlab.runtime import array, cpu, device, empty, from_dlpack
from tvmlab.runtime.array import ALIGN, address, addresses, packed_argument
from tvmlab.runtime.device import Device, cuda, gpu, metal, opencl


def test_devices_by_name_number_and_target_text():
    assert device("cpu", 0) == cpu(0) == device(1) == device("llvm -mcpu=skylake") == Device(1, 0)
    assert device("gpu", 1) == cuda(1) == gpu(1)
    assert repr(cpu()) == "cpu(0)" and repr(opencl(2)) == "opencl(2)"
    assert (cpu(0).device_type, cpu(3).device_id) == (1, 3)


def test_the_cpu_exists_and_a_device_without_a_runner_does_not():
    assert cpu(0).exist and not metal(0).exist and not opencl(99).exist
    assert cpu(0).max_threads_per_block is None
    cpu(0).sync()
    with pytest.raises(ValueError, match=r"^there is no device metal\(0\) in this process\n  legal here:  cpu\(0\)"):
        empty((2,), device=metal(0))


def test_unknown_device():
    for name in ("fpga", 99, ""):
        with pytest.raises(ValueError, match="^unknown device type"):
            device(name)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "float16", "float32", "float64"])
@pytest.mark.parametrize("shape", [(), (1,), (0, 3), (5, 3)])
def test_array_copies_in_and_out(dtype, shape):
    source = np.ones(shape, dtype)
    a = array(source)
    assert (a.shape, a.dtype, a.ndim, a.size) == (shape, dtype, len(shape), source.size)
    source[...] = 0
    out = a.numpy()
    assert out.dtype == dtype and (out == 1).all()
    out[...] = 0
    assert (a.asnumpy() == 1).all()


def test_lists_and_non_contiguous_sources():
    assert array([[1.5, 2], [3, 4]]).dtype == "float64"
    grid = np.arange(12).reshape(3, 4)[::2, ::-1].T
    np.testing.assert_array_equal(array(grid).numpy(), grid)
    with pytest.raises(TypeError, match="^an nd.array cannot hold complex128; the data types are bool, int8, "):
        array(np.zeros(2, complex))


def test_memory_is_aligned_also_when_it_is_small():
    kept = [empty((n,), "int8") for n in range(20)]
    assert all(a.data.ctypes.data % ALIGN == 0 for a in kept)


def test_vector_dtype_has_a_dimension_for_its_lanes():
    a = empty((3,), "float32x4")
    assert (a.shape, a.dtype, a.data.shape) == ((3,), "float32x4", (3, 4))
    a[:] = np.arange(12, dtype="float32").reshape(3, 4)
    b = pickle.loads(pickle.dumps(a))
    assert b.dtype == "float32x4" and (b.numpy() == a.numpy()).all()
    assert a.copyto(cpu(0)).dtype == "float32x4"


def test_whole_array_assignment_converts():
    a = empty((2, 2))
    a[:] = np.array([[1, 2], [3, 4]])
    assert a.numpy().dtype == np.float32 and a.numpy().sum() == 10
    b = empty((2, 2), "int32")
    b[:] = a
    assert b.numpy().tolist() == [[1, 2], [3, 4]]


def test_assignments_that_are_refused():
    a = empty((2,))
    message = "an nd.array takes whole-array assignment only:  a[:] = value;  for a part, assign a changed a.numpy()"
    for index in (0, slice(0, 1), (slice(None), 0)):
        with pytest.raises(ValueError) as e:
            a[index] = np.zeros(2, "float32")
        assert str(e.value) == message
    for value in (1.0, [1, 2], None):
        with pytest.raises(TypeError, match="^cannot assign a .* to an nd.array: expected an array$"):
            a[:] = value
    with pytest.raises(ValueError, match=r"^cannot copy an array of shape \(3,\) into one of shape \(2,\)$"):
        a[:] = np.zeros(3)


def test_copyfrom_and_copyto():
    a, b = array([1.0, 2.0]), empty((2,), "float64")
    assert a.copyto(b) is b and b.numpy().tolist() == [1, 2]
    c = a.copyto(cpu(0))
    assert c.numpy().tolist() == [1, 2] and not c.same_as(a) and a.same_as(a)
    assert b.copyfrom([5, 6]) is b and b.numpy().tolist() == [5, 6]
    assert b.copyfrom(a) is b and b.numpy().tolist() == [1, 2]
    with pytest.raises(ValueError, match=r"^cannot copy an array of shape \(2,\) into one of shape \(3,\)$"):
        a.copyto(empty((3,)))
    with pytest.raises(ValueError, match="^cannot copy to int: expected an array or a device$"):
        a.copyto(3)
    with pytest.raises(TypeError, match="^cannot make an array of float64 from str$"):
        a.copyfrom("abc")


def test_numpy_and_dlpack_see_the_memory():
    a = array([1.0, 2.0])
    assert np.asarray(a).sum() == 3 and np.asarray(a, np.int32).dtype == np.int32
    assert np.shares_memory(np.asarray(a), a.data) and not np.shares_memory(np.array(a), a.data)
    b = from_dlpack(a)
    b[:] = np.array([7.0, 8.0])
    assert a.numpy().tolist() == [7, 8]


def test_text():
    a = array(np.zeros(2, "float32"))
    assert repr(a) == "<tvmlab.nd.NDArray shape=(2,), cpu(0)>\narray([0., 0.], dtype=float32)"


def test_pickle():
    a = array([1.0, 2.0])
    b = pickle.loads(pickle.dumps(a))
    assert b.numpy().tolist() == [1, 2] and b.device == cpu(0) and b.data.ctypes.data % ALIGN == 0


def test_addresses_are_what_ctypes_says():
    views = [np.zeros(4), np.zeros((4, 4))[2:, ::-1], np.array(1.0), np.zeros(0), np.asfortranarray(np.ones((3, 2)))]
    assert addresses(views) == [v.ctypes.data for v in views] == [address(v) for v in views]


def test_what_a_packed_function_gets_answers_to_both_names():
    memory = np.ones(3, "float32")
    x = packed_argument(memory)
    array(x.asnumpy() + 1).copyto(x)
    assert memory.tolist() == [2, 2, 2] and type(x.numpy()) is np.ndarray
    x[1:] += 1
    assert memory.tolist() == [2, 3, 3] and np.shares_memory(x, memory)
    assert packed_argument(7) == 7
