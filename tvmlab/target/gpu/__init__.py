"""What targets with kernels share: device code as plain data, and the launches of a host function.

DeviceCode    what a child process needs to run kernels: text, names, parameters (code.py)
commands()    the host function at given numbers: Allocate, Launch, Free, one after another (plan.py)
limits        what devices hold, what kernels ask of them, how many blocks run at once (limits.py)
divergence    barriers and shuffles that not all of their threads reach (divergence.py)
"""

from .code import Allocate, Command, DeviceCode, Free, Kernel, Launch, Param, compiled, device_code, kernel_of, written
from .plan import commands

__all__ = [
    "Allocate", "Command", "DeviceCode", "Free", "Kernel", "Launch", "Param", "commands", "compiled", "device_code",
    "kernel_of", "written",
]  # fmt: skip
