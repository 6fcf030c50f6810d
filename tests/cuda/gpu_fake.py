"""A stand-in for the part of cuda.core that needs a GPU: memory is this process's, a kernel is a function of Python.

Programs are compiled by the real NVRTC. `differences()`: where a method here is not declared as the real one is.
"""

import ctypes
import inspect
from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np


class Event:
    def __init__(self, at, timed):
        self.at, self.timed = at, timed

    def __sub__(self, other):
        assert self.timed and other.timed
        return float(self.at - other.at)


class Stream:
    """Its clock is how many things it was asked to do: a millisecond each."""

    handle = "the stream"

    def __init__(self, gpu):
        self.gpu, self.clock = gpu, 0

    def record(self, event=None, options=None):
        self.clock += 1
        return Event(self.clock, options is not None and options.timing_enabled)

    def sync(self):
        self.gpu.failing()


class Buffer:
    def __init__(self, gpu, size):
        self.gpu, self.bytes = gpu, np.zeros(size + 512, np.uint8)
        self.handle = -(-self.bytes.ctypes.data // 256) * 256
        self.size = size

    def fill(self, value, *, stream):
        ctypes.memset(self.handle, value, self.size)

    def close(self, stream=None):
        self.gpu.closed += 1


@dataclass
class Gpu:
    """What the whole device is: `kernels`, by name, take the numbers of block and thread and typed arguments."""

    kernels: dict
    lost: str = ""  # what every wait says
    closed: int = 0
    asked: list = field(default_factory=list)  # what kernels were set to
    shared: list = field(default_factory=list)  # bytes that launches asked for
    launches: list = field(default_factory=list)

    def failing(self):
        if self.lost:
            raise RuntimeError(self.lost)

    # ------------------------------------------------------------ what the runner sees: two modules

    @property
    def core(self):
        import cuda.core as real

        gpu = self

        class Device:
            name, arch, device_id = "Fake", "90", 0
            properties = SimpleNamespace(
                compute_capability_major=9, compute_capability_minor=0, max_threads_per_block=1024, warp_size=32,
                max_shared_memory_per_block=48 << 10,
                max_shared_memory_per_block_optin=227 << 10, clock_rate=1, multiprocessor_count=1, max_block_dim_x=1024,
                max_block_dim_y=1024, max_block_dim_z=64, max_grid_dim_x=2**31 - 1, max_grid_dim_y=65535,
                max_grid_dim_z=65535,
            )  # fmt: skip

            def __init__(self, device_id=None):
                assert device_id == 0

            def set_current(self, ctx=None):
                pass

            def create_stream(self, obj=None, options=None):
                return Stream(gpu)

            def allocate(self, size, *, stream):
                return Buffer(gpu, size)

        def launch(stream, config, kernel, *kernel_args):
            stream.clock += 1
            assert isinstance(config, real.LaunchConfig)
            gpu.shared.append(config.shmem_size)
            gpu.launches.append((kernel.name, tuple(config.grid), tuple(config.block)))
            gpu.kernels[kernel.name](config, *kernel_args)

        return SimpleNamespace(
            Device=Device, launch=launch, LaunchConfig=real.LaunchConfig, EventOptions=real.EventOptions
        )

    @property
    def driver(self):
        from cuda.bindings import driver as real

        def cuMemcpyHtoDAsync(dstDevice, srcHost, ByteCount, hStream):
            ctypes.memmove(dstDevice, srcHost, ByteCount)
            return (0,)

        def cuMemcpyDtoHAsync(dstHost, srcDevice, ByteCount, hStream):
            ctypes.memmove(dstHost, srcDevice, ByteCount)
            return (0,)

        def cuKernelSetAttribute(attrib, val, kernel, dev):
            self.asked.append((attrib.name, val, kernel, dev))
            return (0,)

        def cuInit(Flags):
            return (0,)

        def cuDeviceGetCount():
            return 0, 1

        calls = (cuInit, cuDeviceGetCount, cuMemcpyHtoDAsync, cuMemcpyDtoHAsync, cuKernelSetAttribute)
        return SimpleNamespace(**{f.__name__: f for f in calls}, CUfunction_attribute=real.CUfunction_attribute)


class ObjectCode:
    """What the real NVRTC made; loading it would need a GPU."""

    def __init__(self, real):
        self.real = real

    def get_kernel(self, name):
        assert name.encode() in self.real.code, f"{name} is not in the machine code"
        return SimpleNamespace(name=name, handle=f"handle of {name}")


def typed(address, dtype, count):
    """What lies at an address that a kernel was given."""
    assert type(address) is int and address % 256 == 0
    return np.ctypeslib.as_array((np.ctypeslib.as_ctypes_type(dtype) * count).from_address(address))


def differences():
    """(name, parameters here, parameters there) of every function that is not the same."""
    import cuda.core as real
    from cuda.bindings import driver
    from cuda.core._device import DeviceProperties

    gpu = Gpu({})
    pairs = [(getattr(gpu.driver, n), getattr(driver, n, None)) for n in vars(gpu.driver) if n.startswith("cu")]
    pairs.append((gpu.core.launch, real.launch))
    classes = [(gpu.core.Device, real.Device), (Stream, real.Stream), (Buffer, real.Buffer)]
    for mine, theirs in [*classes, (ObjectCode, real.ObjectCode), (Event, real.Event)]:
        for name, f in inspect.getmembers(mine, inspect.isroutine):
            if name in vars(mine) and name not in ("__init__", "__sub__"):
                pairs.append((f, getattr(theirs, name, None)))
    wrong = [(a.__qualname__, parameters(a), parameters(b)) for a, b in pairs if parameters(a) != parameters(b)]
    parts = [(real.Buffer, "handle"), (real.Stream, "handle"), (real.Event, "__sub__")]
    parts += [(real.Device, p) for p in ("name", "arch", "device_id", "properties")]
    parts += [(DeviceProperties, p) for p in vars(gpu.core.Device.properties)]
    return wrong + [(p, "there", "missing") for owner, p in parts if not hasattr(owner, p)]


def parameters(f):
    """Names and kinds."""
    found = [] if f is None else [(p.name, p.kind.name) for p in inspect.signature(f).parameters.values()]
    return None if f is None else [x for x in found if x[0] not in ("self", "cls")]
