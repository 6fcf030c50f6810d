"""Loop programs written by hand, and a small evaluator that runs them before and after a pass.

The evaluator is slow and strict: an index outside the memory, or a read of something never written, is an error.
"""

import math

from tvmlab.core import build
from tvmlab.core import dtype as dt
from tvmlab.core.node import (
    Alloc,
    Attr,
    Bin,
    Broadcast,
    Buffer,
    Call,
    Cast,
    Const,
    Evaluate,
    For,
    If,
    Let,
    LetStmt,
    Load,
    Not,
    Ramp,
    Select,
    Seq,
    Stmt,
    Store,
    Var,
    While,
)
from tvmlab.core.program import Function, Program
from tvmlab.core.walk import seq, walk


def buffer(name, *shape, dtype="float32", **kw):
    return Buffer(name, tuple(map(build.to_expr, shape)), dtype, **kw)


def load(b, *indices):
    indices = tuple(map(build.to_expr, indices))
    lanes = max([dt.lanes(i.dtype) for i in indices], default=1)
    return Load(b, indices, dt.vector(b.dtype, lanes))


def store(b, indices, value, **kw):
    indices = indices if isinstance(indices, tuple) else (indices,)
    value = value if hasattr(value, "dtype") else build.const(value, b.dtype)
    return Store(b, tuple(map(build.to_expr, indices)), value, **kw)


def loop(v, extent, *body, kind="serial", lo=0, **kw):
    return For(v, build.to_expr(lo), build.to_expr(extent), kind, seq(*body), **kw)


def var(name, dtype="int32", **kw):
    return Var(name, dtype, **kw)


def ints(names):
    return [Var(n) for n in names.split()]


def when(cond, *then, likely=True):
    return If(cond, seq(*then), None, likely)


def program(params, *body, sizes=(), name="f"):
    return Program((Function(name, tuple(params), seq(*body), tuple(sizes)),))


def nodes(p, *types):
    return [x for fn in p.functions for x in walk(fn.body) if isinstance(x, types)]


# ---------------------------------------------------------------- evaluation


class Memory(dict):
    """address -> value of one buffer; addresses from 0 to size - 1."""

    def __init__(self, name, size, values=()):
        super().__init__(enumerate(values))
        self.name, self.size = name, size


def run(p, sizes=None, seed=3):
    """What the program leaves in its parameters, by name, from the same made-up numbers each time."""
    fn = p.entry
    env = dict(sizes or {})
    for b in fn.buffers:
        size = evaluate(_span(b), env)
        values = [((i * 7 + seed) % 23) - 11 for i in range(size)]
        env[b.data] = Memory(b.name, size, map(float, values) if dt.is_float(b.dtype) else values)
    _exec(fn.body, env)
    return {b.name: [env[b.data].get(i) for i in range(env[b.data].size)] for b in fn.buffers}


def same_result(before, after, sizes=None):
    want, got = run(before, sizes), run(after, sizes)
    assert want == got


def _strides(b):
    if b.strides is not None:
        return b.strides
    made, size = [], 1
    for n in reversed(b.shape):
        made.append(size)
        size = size * n
    return made[::-1]


def _span(b):
    total = 0 if b.offset is None else b.offset
    for n, s in zip(b.shape, _strides(b)):
        total = total + (n - 1) * s
    return build.to_expr(total + 1)


def _addresses(b, indices, env, lanes):
    columns = [_wide(evaluate(i, env), lanes) for i in indices]
    shape = [evaluate(n, env) for n in b.shape]
    strides = [evaluate(s, env) for s in _strides(b)]
    base = 0 if b.offset is None else evaluate(b.offset, env)
    for lane in range(lanes):
        at = [c[lane] for c in columns]
        yield at, all(0 <= x < n for x, n in zip(at, shape)), base + sum(x * s for x, s in zip(at, strides))


def _wide(x, lanes):
    return x if isinstance(x, list) else [x] * lanes


def _lanes(*exprs):
    return max([dt.lanes(e.dtype) for e in exprs if e is not None], default=1)


def _load(e, env):
    lanes, found = _lanes(*e.indices, e.mask), []
    mask = [True] * lanes if e.mask is None else _wide(evaluate(e.mask, env), lanes)
    for (at, inside, a), on in zip(_addresses(e.buffer, e.indices, env, lanes), mask):
        if not on:
            found.append(0)
            continue
        memory = env[e.buffer.data]
        assert inside and 0 <= a < memory.size, f"read of {e.buffer.name}{at}, outside"
        assert a in memory, f"read of {e.buffer.name}{at}, never written"
        found.append(memory[a])
    return found if lanes > 1 else found[0]


def _store(s, env):
    lanes = _lanes(*s.indices, s.mask, s.value)
    values = _wide(evaluate(s.value, env), lanes)
    mask = [True] * lanes if s.mask is None else _wide(evaluate(s.mask, env), lanes)
    for (at, inside, a), value, on in zip(_addresses(s.buffer, s.indices, env, lanes), values, mask):
        if on:
            memory = env[s.buffer.data]
            assert inside and 0 <= a < memory.size, f"write to {s.buffer.name}{at}, outside"
            memory[a] = value


def _lanewise(f, *args):
    lanes = max([len(a) for a in args if isinstance(a, list)], default=0)
    if not lanes:
        return f(*args)
    return [f(*column) for column in zip(*[_wide(a, lanes) for a in args])]


def _choose(e, env):
    cond, then, other = (e.cond, e.then, e.other) if isinstance(e, Select) else e.args
    c = evaluate(cond, env)
    if not isinstance(c, list):
        return evaluate(then if c else other, env)
    return _lanewise(lambda c, a, b: a if c else b, c, evaluate(then, env), evaluate(other, env))


PURE = {"likely": lambda x: x, "exp": math.exp, "sqrt": lambda x: math.sqrt(abs(x)), "max0": lambda x: max(x, 0)}


def evaluate(e, env):
    if isinstance(e, int):
        return e
    if isinstance(e, Const):
        return e.value
    if isinstance(e, Var):
        return env[e]
    if isinstance(e, Bin) and e.op == "and" and dt.lanes(e.dtype) == 1:
        return bool(evaluate(e.a, env) and evaluate(e.b, env))
    if isinstance(e, Bin):
        return _lanewise(build.FOLD[e.op], evaluate(e.a, env), evaluate(e.b, env))
    if isinstance(e, Not):
        return _lanewise(lambda x: not x, evaluate(e.a, env))
    if isinstance(e, Cast):
        kind = float if dt.is_float(e.dtype) else int
        return _lanewise(kind, evaluate(e.value, env))
    if isinstance(e, Ramp):
        base, stride = evaluate(e.base, env), evaluate(e.stride, env)
        return [base + stride * i for i in range(e.count)]
    if isinstance(e, Broadcast):
        return [evaluate(e.value, env)] * e.count
    if isinstance(e, Load):
        return _load(e, env)
    if isinstance(e, Let):
        return evaluate(e.body, {**env, e.var: evaluate(e.value, env)})
    if isinstance(e, Select) or (isinstance(e, Call) and e.name == "if_then_else"):
        return _choose(e, env)
    assert isinstance(e, Call), e
    args = [evaluate(a, env) for a in e.args]
    if e.name == "bump":  # an extern with an effect: adds its argument to a counter
        env["count"][0] += args[0]
        return 0
    return _lanewise(PURE[e.name], *args)


def _exec(s: Stmt, env):
    if isinstance(s, For):
        lo, n = evaluate(s.lo, env), evaluate(s.extent, env)
        for i in range(lo, lo + n):
            _exec(s.body, {**env, s.var: i})
    elif isinstance(s, Store):
        _store(s, env)
    elif isinstance(s, If):
        if evaluate(s.cond, env):
            _exec(s.then, env)
        elif s.other is not None:
            _exec(s.other, env)
    elif isinstance(s, Seq):
        for x in s.stmts:
            _exec(x, env)
    elif isinstance(s, Alloc):
        _exec(s.body, {**env, s.buffer.data: Memory(s.buffer.name, evaluate(_span(s.buffer), env))})
    elif isinstance(s, LetStmt):
        _exec(s.body, {**env, s.var: evaluate(s.value, env)})
    elif isinstance(s, Attr):
        _exec(s.body, env)
    elif isinstance(s, While):
        while evaluate(s.cond, env):
            _exec(s.body, env)
    elif isinstance(s, Evaluate):
        evaluate(s.value, env)
    else:
        raise TypeError(type(s).__name__)
