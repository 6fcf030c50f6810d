# mypy: ignore-errors
"""Device functions of generated CUDA programs: each is copied into the text that uses it. Not imported here.

They mean the same to Numba (where integers have a fixed width) and to its simulator (where Python's grow).
"""

import math

import numpy as np
from numba import cuda


@cuda.jit(device=True)
def smaller(a, b):
    """a if it is less, else b: of something that is not a number and a number, the second"""
    return a if a < b else b


@cuda.jit(device=True)
def larger(a, b):
    """a if it is more, else b: of something that is not a number and a number, the second"""
    return a if a > b else b


@cuda.jit(device=True)
def floordiv(a, b):
    """a // b; 0 where b is"""
    return a // b if b != 0 else a - a


@cuda.jit(device=True)
def modulo(a, b):
    """a % b; 0 where b is"""
    return a % b if b != 0 else a - a


@cuda.jit(device=True)
def truncdiv(a, b):
    """a / b towards zero; 0 where b is"""
    if b == 0:
        return a - a
    q = a // b
    return q + 1 if q < 0 and q * b != a else q


@cuda.jit(device=True)
def truncmod(a, b):
    """The rest of a division towards zero: it has the sign of a; 0 where b is"""
    if b == 0:
        return a - a
    r = a % b
    return r - b if r != 0 and (a < 0) != (b < 0) else r


@cuda.jit(device=True)
def shift_left(a, n, bits):
    """a << n; all bits are gone when n is the width or more"""
    return a << n if n >= 0 and n < bits else a - a


@cuda.jit(device=True)
def shift_right(a, n, bits):
    """a >> n; only the sign is left when n is the width or more"""
    return a >> n if n >= 0 and n < bits else a >> (bits - 1) >> 1


@cuda.jit(device=True)
def popcount(x, bits):
    """How many bits are set"""
    count = 0
    for k in range(bits):
        if (x >> k) & 1 != 0:
            count += 1
    return count


@cuda.jit(device=True)
def leading_zeros(x, bits):
    """How many zero bits stand before the first one"""
    count = 0
    while count < bits and (x >> (bits - 1 - count)) & 1 == 0:
        count += 1
    return count


@cuda.jit(device=True)
def absolute(x):
    """|x| of an integer"""
    return -x if x < 0 else x


@cuda.jit(device=True)
def power(x, n):
    """x to the n, of integers; 0 for a negative n"""
    made = x - x
    if n >= 0:
        made = x - x + 1
        for _ in range(n):
            made = made * x
    return made


@cuda.jit(device=True)
def floor(x):
    """The nearest whole number below"""
    return math.copysign(float(math.floor(x)), float(x)) if abs(x) < 4503599627370496.0 else x


@cuda.jit(device=True)
def ceil(x):
    """The nearest whole number above"""
    return math.copysign(float(math.ceil(x)), float(x)) if abs(x) < 4503599627370496.0 else x


@cuda.jit(device=True)
def trunc(x):
    """The nearest whole number towards zero"""
    return math.copysign(float(int(x)), float(x)) if abs(x) < 4503599627370496.0 else x


@cuda.jit(device=True)
def nearest(x):
    """The nearest whole number, of two the even one"""
    return math.copysign(float(round(x)), float(x)) if abs(x) < 4503599627370496.0 else x


@cuda.jit(device=True)
def round_away(x):
    """The nearest whole number, halves away from zero"""
    if not abs(x) < 4503599627370496.0:
        return float(x)
    whole_part = float(int(abs(x)))
    if abs(x) - whole_part >= 0.5:
        whole_part += 1.0
    return math.copysign(whole_part, float(x))


@cuda.jit(device=True)
def whole(x):
    """A float as an integer, towards zero; 0 where it is no number or too large"""
    return int(x) if -9223372036854775808.0 <= x < 9223372036854775808.0 else 0


@cuda.jit(device=True)
def whole_uint64(x):
    """A float as an integer of 64 bits without sign, likewise"""
    if 9223372036854775808.0 <= x < 18446744073709551616.0:
        return np.uint64(int(x - 9223372036854775808.0)) | np.uint64(9223372036854775808)
    low = int(x) if -9223372036854775808.0 <= x < 9223372036854775808.0 else 0
    return np.uint64((low >> 32) & 4294967295) << np.uint64(32) | np.uint64(low & 4294967295)


@cuda.jit(device=True)
def to_int8(x):
    """The low 8 bits"""
    low = int(x) & 255
    return np.int8(low - 256) if low > 127 else np.int8(low)


@cuda.jit(device=True)
def to_int16(x):
    """The low 16 bits"""
    low = int(x) & 65535
    return np.int16(low - 65536) if low > 32767 else np.int16(low)


@cuda.jit(device=True)
def to_int32(x):
    """The low 32 bits"""
    low = int(x) & 4294967295
    return np.int32(low - 4294967296) if low > 2147483647 else np.int32(low)


@cuda.jit(device=True)
def to_int64(x):
    """The 64 bits of an unsigned number"""
    high = np.int64(x >> np.uint64(32))
    if high > 2147483647:
        high -= 4294967296
    return np.int64((high << 32) | np.int64(x & np.uint64(4294967295)))


@cuda.jit(device=True)
def to_uint8(x):
    """The low 8 bits"""
    return np.uint8(int(x) & 255)


@cuda.jit(device=True)
def to_uint16(x):
    """The low 16 bits"""
    return np.uint16(int(x) & 65535)


@cuda.jit(device=True)
def to_uint32(x):
    """The low 32 bits"""
    return np.uint32(int(x) & 4294967295)


@cuda.jit(device=True)
def to_uint64(x):
    """The 64 bits of a signed number"""
    return np.uint64((int(x) >> 32) & 4294967295) << np.uint64(32) | np.uint64(int(x) & 4294967295)
