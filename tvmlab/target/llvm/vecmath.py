"""Vector forms of the common maths functions, as polynomials. Largest errors, in units in the last place, as tested:

    exp 1, log 1, tanh 1.5, erf 1.5, sigmoid 2.5 (as it is defined, 1/(1 + exp(-x)))

in float32 and float64 alike; edges as IEEE has them: log(0) = -inf, log(-1) = nan, exp underflows gradually.
float32 exp, log and tanh follow Cephes (S. Moshier), float64 log follows the fdlibm form; erf of float64 was fitted
(Chebyshev, in extended precision).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .numeric import Num, horner

EXP32 = (1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)
EXP64 = tuple(1.0 / math.factorial(n) for n in range(13, 1, -1))
LOG32 = (
    7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1,
    2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
)  # fmt: skip
LOG64_EVEN = (1.531383769920937332e-01, 2.222219843214978396e-01, 3.999999999940941908e-01)
LOG64_ODD = (1.479819860511658591e-01, 1.818357216161805012e-01, 2.857142874366239149e-01, 6.666666666666735130e-01)
TANH32 = (-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1)
TANH64_P = (-9.64399179425052238628e-1, -9.92877231001918586564e1, -1.61468768441708447952e3)
TANH64_Q = (1.0, 1.12811678491632931402e2, 2.23548839060100448583e3, 4.84406305325125486048e3)
ERF32_NEAR = (-5.96761703e-4, 4.99119423e-3, -2.67681349e-2, 1.12819925e-1, -3.76125336e-1, 1.28379166e-1)
ERF32_FAR = (
    -1.72853470e-5,
    3.83197126e-4,
    -3.88396438e-3,
    2.42546219e-2,
    -1.06777877e-1,
    -6.34846687e-1,
    -1.28717512e-1,
    0.0,
)
ERF64_NEAR = (
    -7.798894330335315e-10, 1.3721720506509882e-08, -1.620887953457384e-07, 1.644747821680781e-06,
    -1.4924741408203212e-05, 0.00012055295148510392, -0.000854832598388408, 0.005223977607301669,
    -0.02686617064326146, 0.11283791670945163, -0.37612638903183543, 0.12837916709551256,
)  # fmt: skip
ERF64_FAR = (
    -1.2836422432286166e-06, -3.8255281960718016e-06, 2.5384791494698695e-06, 2.2580689998609306e-05,
    6.274075339306553e-06, -0.0001135032376477573, -8.847966943522838e-05, 0.0006321225866558147,
    0.0004918658195660364, -0.004382078248755912, 0.0009318928175194549, 0.03276089326611501, -0.10296705603857552,
    0.15762991902325044, -0.09902453957360184, -0.12235676308240442, 1.2648381843668615,
)  # fmt: skip


def exp32(x: Num) -> Num:
    """2**n * e**r with n = round(x / ln 2); the scale in two halves, so that subnormal results round once."""
    magic = 12582912.0  # 1.5 * 2**23: adding it rounds to an integer, left in the low bits
    c = (x < 89.0).where(x, x.of(89.0))
    c = (c > -104.0).where(c, c.of(-104.0))
    k = c * 1.44269504088896341 + magic
    n = k - magic
    r = c - n * 0.693359375
    r = r - n * -2.12194440e-4
    y = (horner(r, EXP32) * (r * r) + r) + 1.0
    i = k.bits() - 0x4B400000
    half = i >> 1
    y = y * ((half + 127) << 23).as_float() * ((i - half + 127) << 23).as_float()
    return x.is_nan().where(x, y)


def exp64(x: Num) -> Num:
    magic = 6755399441055744.0
    c = (x < 710.0).where(x, x.of(710.0))
    c = (c > -746.0).where(c, c.of(-746.0))
    k = c * 1.4426950408889634 + magic
    n = k - magic
    r = c - n * 6.93145751953125e-1
    r = r - n * 1.42860682030941723212e-6
    y = (horner(r, EXP64) * (r * r) + r) + 1.0
    i = k.bits() - 0x4338000000000000
    half = i >> 1
    y = y * ((half + 1023) << 52).as_float() * ((i - half + 1023) << 52).as_float()
    return x.is_nan().where(x, y)


def _split(x: Num, tiny: float, scale: float, mantissa: int, bias: int) -> tuple[Num, Num]:
    """x = 2**e * (1 + f) with sqrt(1/2) <= 1 + f < sqrt(2): (e as a float, f)."""
    small = x < tiny
    bits = small.where(x * scale, x).bits()
    lifted = small.where(bits.of(int(math.log2(scale))), bits.of(0))
    low = bits.of((1 << mantissa) - 1)
    e = bits.shifted_right(mantissa) - lifted - (bias - 1)
    m = ((bits & low) | ((bias - 1) << mantissa)).as_float()
    below = m < math.sqrt(0.5)
    e = below.where(e - 1, e)
    return e.cast(f"float{32 if mantissa == 23 else 64}"), below.where(m + m, m) - 1.0


def _log_edges(x: Num, y: Num) -> Num:
    y = x.equals(math.inf).where(x, y)
    y = x.equals(0.0).where(x.of(-math.inf), y)
    y = (x < 0.0).where(x.of(math.nan), y)
    return x.is_nan().where(x, y)


def log32(x: Num) -> Num:
    e, f = _split(x, 1.1754943508222875e-38, 8388608.0, 23, 127)
    z = f * f
    y = horner(f, LOG32) * f * z
    y = y + e * -2.12194440e-4
    y = y - z * 0.5
    return _log_edges(x, (f + y) + e * 0.693359375)


def log64(x: Num) -> Num:
    e, f = _split(x, 2.2250738585072014e-308, 18014398509481984.0, 52, 1023)
    s = f / (f + 2.0)
    z = s * s
    w = z * z
    big = w * horner(w, LOG64_EVEN) + z * horner(w, LOG64_ODD)
    h = f * f * 0.5
    inner = s * (h + big) + e * 1.90821492927058770002e-10
    return _log_edges(x, e * 6.93147180369123816490e-01 - ((h - inner) - f))


def _tanh(x: Num, near: Num, exp: Callable[[Num], Num]) -> Num:
    a = x.abs()
    far = a.of(1.0) - a.of(2.0) / (exp(a + a) + 1.0)
    return (a > 0.625).where(far.with_sign_of(x), near)


def tanh32(x: Num) -> Num:
    z = x * x
    return _tanh(x, x * (z * horner(z, TANH32)) + x, exp32)


def tanh64(x: Num) -> Num:
    z = x * x
    return _tanh(x, x * (z * horner(z, TANH64_P) / horner(z, TANH64_Q)) + x, exp64)


def _sigmoid(x: Num, exp: Callable[[Num], Num]) -> Num:
    return x.of(1.0) / (exp(x.of(0.0) - x) + 1.0)


def erf32(x: Num) -> Num:
    """Near zero x + x*P(x*x), further out 1 - exp(-t + t*Q(t))."""
    a, z = x.abs(), x * x
    near = horner(z, ERF32_NEAR) * x + x
    c = (a < 4.0).where(a, a.of(4.0))
    far = (a.of(1.0) - exp32(horner(c, ERF32_FAR) - c)).with_sign_of(x)
    far = x.is_nan().where(x, far)
    return (a > 0.927734375).where(far, near)


def erf64(x: Num) -> Num:
    """Up to one x + x*P(x*x); further out 1 - exp(-x*x)*Q(t)/(1 + 2*x) with t = (x - 2.5)/(x + 2.5), fitted on 1..6."""
    a, z = x.abs(), x * x
    near = horner(z, ERF64_NEAR) * x + x
    c = (a < 6.0).where(a, a.of(6.0))
    t = (c - 2.5) / (c + 2.5)
    tail = exp64(a.of(0.0) - c * c) * horner(t, ERF64_FAR) / (c + c + 1.0)
    far = (a.of(1.0) - tail).with_sign_of(x)
    return (a > 1.0).where(x.is_nan().where(x, far), near)


VECTOR: dict[tuple[str, int], Callable[[Any], Num]] = {
    ("exp", 32): exp32, ("exp", 64): exp64, ("log", 32): log32, ("log", 64): log64,
    ("tanh", 32): tanh32, ("tanh", 64): tanh64, ("erf", 32): erf32, ("erf", 64): erf64,
    ("sigmoid", 32): lambda x: _sigmoid(x, exp32), ("sigmoid", 64): lambda x: _sigmoid(x, exp64),
}  # fmt: skip
