"""What each rule of `reasons` says: a sentence with the numbers, in the names of the loops, and a loop to look at."""

from __future__ import annotations

from ..core.units import size
from .facts import Access, Facts, Inner
from .machine import Machine
from .metrics import Region
from .roofline import Traffic, traffic

Said = tuple[str, str]


def amount(n: float) -> str:
    """1048576 -> `1.0 million`"""
    for least, word in ((1e12, "trillion"), (1e9, "billion"), (1e6, "million")):
        if n >= least:
            return f"{n / least:.1f} {word}"
    return f"{n:,.0f}"


def times(n: float) -> str:
    return f"{n:.1f} times" if n < 10 else f"{n:,.0f} times"


def _region(f: Facts) -> Region | None:
    """The parallel loop that does most of the work."""
    return max((r for r in f.metrics.regions if r.tasks > 1), key=lambda r: r.share, default=None)


def parallel(slow: Facts, fast: Facts, machine: Machine) -> Said | None:
    r = _region(fast)
    if r is None:
        return None
    cores = min(machine.cores, r.tasks)
    return (
        f"The faster one runs `{r.name}` in parallel, {r.tasks:,} tasks on {cores} cores; the slower one uses 1.",
        r.name,
    )


def tasks(slow: Facts, fast: Facts, machine: Machine) -> Said | None:
    a, b = _region(slow), _region(fast)
    if a is None:
        return None
    head = f"In the slower one `{a.name}` has only {a.tasks:,} tasks for {machine.cores} cores"
    if a.tasks >= machine.cores:
        part = (
            f"{a.share:.0%} of the work" if a.share < 0.95 else f"{a.tasks:,} tasks, which do not fill the last round"
        )
        head = f"In the slower one the parallel loop `{a.name}` has {part}, on {machine.cores} cores"
    return (f"{head}; in the faster one `{b.name}` has {b.tasks:,}." if b is not None else f"{head}."), a.name


def vectors(slow: Facts, fast: Facts, machine: Machine) -> Said:
    a, b = (min(f.metrics.lanes or 1, machine.lanes(f.metrics.bits)) for f in (slow, fast))
    wide = max((x for x in fast.inner if x.kind == "vector"), key=lambda x: x.iterations, default=None)
    where = f" in stage {wide.stage}" if wide is not None and wide.stage else ""
    if a == b:
        text = f"Both have vectors of {b}, but more of the faster one's work is in them"
    else:
        text = f"The faster one computes {b} elements at a time{where}, the slower one {a}"
    return f"{text}.", wide.name if wide is not None else ""


def redundant(slow: Facts, fast: Facts, machine: Machine) -> Said:
    a, b = slow.metrics, fast.metrics
    again = a.recomputed(b)
    if again:
        stage = max(again, key=lambda s: again[s])
        n, m = a.stages[stage].stores, b.stages[stage].stores
        text = f"The slower one computes {amount(n)} elements of {stage}, the faster one {amount(m)}"
        return f"{text}: {times(again[stage])} as many.", _loop_of(slow, stage)
    gone = [s for s in b.stages if s not in a.stages and b.stages[s].flops]
    ratio = times((a.flops or 0) / (b.flops or 1))
    if gone:
        return f"The slower one computes {gone[0]} again wherever it is read: {ratio} the arithmetic.", ""
    return f"The slower one does {ratio} the arithmetic of the faster one.", ""


def _loop_of(f: Facts, stage: str) -> str:
    return next((x.name for x in f.metrics.levels if x.stage == stage), "")


def copies(slow: Facts, fast: Facts, machine: Machine) -> Said | None:
    extra = [b for b in slow.allocated if b not in fast.allocated]
    moved = {b: sum(a.bytes for a in slow.accesses if a.buffer == b) for b in extra}
    if not moved:
        return None
    name = max(moved, key=lambda b: moved[b])
    where = next((a for a in slow.accesses if a.buffer == name and a.store), None)
    text = f"The slower one stores {name} ({size(slow.metrics.buffers.get(name, 0))}) and reads it again, "
    text += f"{size(moved[name])} in all; the faster one has no such buffer."
    return text, where.loop if where is not None else ""


def updates(slow: Facts, fast: Facts, machine: Machine) -> Said | None:
    a = max((x for x in slow.accesses if x.updates and not x.local), key=lambda x: x.held, default=None)
    if a is None:
        return None
    b = max((x for x in fast.accesses if x.updates and x.local), key=lambda x: x.held, default=None)
    text = f"The slower one adds to {a.buffer} in memory, {amount(a.held)} times"
    if b is None:
        other = sum(x.held for x in fast.accesses if x.updates and not x.local)
        return f"{text}; the faster one {amount(other)} times.", a.loop
    at_a_time = size(fast.allocated.get(b.buffer, 0))
    return f"{text}; the faster one adds up in {b.buffer} ({at_a_time}) and writes {a.buffer} once.", a.loop


def waits(slow: Facts, fast: Facts, machine: Machine) -> Said | None:
    a = max(slow.accesses, key=lambda x: x.waits, default=None)
    if a is None or not a.waits:
        return None
    text = f"In the slower one `{a.over}` adds to {'one element' if a.apart == 1 else f'{a.apart} elements'}"
    text += f" of {a.buffer}, and each addition waits for the one before"
    b = max(fast.accesses, key=lambda x: x.waits, default=None)
    if b is not None and b.waits:
        return f"{text}; in the faster one there are {b.apart} sums at a time.", a.over
    return f"{text}; in the faster one there are other elements to go on with.", a.over


def strides(slow: Facts, fast: Facts, machine: Machine) -> Said | None:
    def cost(x: Access) -> float:
        gathered = x.elements if x.lanes > 1 and x.stride not in (0, 1) else 0
        return gathered + (x.jumps if x.run < machine.line and x.step >= machine.line else 0)

    a = max(slow.accesses, key=cost, default=None)
    if a is None or not cost(a):
        return None
    loop = f"`{a.loop}`" if a.loop else "a vector"
    step = "an unknown distance" if a.stride is None else f"{abs(a.stride):,} elements ({size(abs(a.stride) * a.size)})"
    text = f"In the slower one each step of {loop} moves by {step} in {a.buffer}, to another cache line"
    if a.stride is not None and abs(a.stride) <= 1:
        text = f"The slower one reads {a.buffer} in pieces of {size(a.run)}, each in another cache line"
    b = max(
        (x for x in fast.accesses if x.buffer == a.buffer and x.store == a.store), key=lambda x: x.held, default=None
    )
    if b is None or b.stride not in (0, 1):
        return f"{text}.", a.loop
    inner = f"`{b.loop}`" if b.loop else "a vector"
    how = "takes neighbours" if b.stride else "stays at one element"
    return f"{text}; in the faster one {inner} {how}.", a.loop


def rows(slow: Facts, fast: Facts, machine: Machine) -> Said | None:
    a = max((x for x in slow.accesses if x.run >= machine.line and x.step >= machine.line), key=_jumped, default=None)
    if a is None:
        return None
    text = f"The slower one goes through {a.buffer} in rows of {size(a.run)}, {size(a.step)} apart (`{a.jump_loop}`)"
    new = [x for x in fast.accesses if x.buffer not in {y.buffer for y in slow.accesses} and not x.store]
    same = [x for x in fast.accesses if x.buffer == a.buffer and x.store == a.store]
    b = max(new or same, key=lambda x: x.elements, default=None)
    if b is None:
        return f"{text}.", a.jump_loop
    whole = "in one piece" if not b.step else f"in rows of {size(b.run)}"
    return f"{text}; the faster one goes through {b.buffer} {whole}.", a.jump_loop


def _jumped(a: Access) -> float:
    return a.jumps * (1 + (a.step >= 4096))


def tiles(slow: Facts, fast: Facts, machine: Machine) -> Said | None:
    best, gain = None, 0.0
    for a, b in zip(traffic(slow.metrics, machine), traffic(fast.metrics, machine), strict=True):
        saved = (a.bytes - b.bytes) / machine.bandwidth(a.source)
        if saved > gain:
            best, gain = (a, b), saved
    if best is None:
        return None
    a, b = best
    source = "memory" if a.source == "memory" else a.source
    text = f"The slower one brings {size(a.bytes)} from {source} into {a.cache}, the faster one {size(b.bytes)}"
    why, loop = _why(a, b)
    return f"{text}{why}.", loop


def _why(a: Traffic, b: Traffic) -> tuple[str, str]:
    """Which loop keeps its data in the cache, and which does not."""
    parts = []
    loop = ""
    if a.over is not None:
        loop = a.over[0]
        parts.append(
            f"one iteration of `{loop}` touches {size(a.over[1])}, more than {a.cache} has ({size(a.capacity)})"
        )
    held = b.holders[0] if b.holders else None
    if held is not None and held.loop:
        parts.append(f"in the faster one an iteration of `{held.loop}` takes {size(held.bytes)} and stays there")
        loop = loop or held.loop
    return (": " + "; ".join(parts) if parts else ""), loop


def guards(slow: Facts, fast: Facts, machine: Machine) -> Said | None:
    g = max(slow.guards, key=lambda g: g.times, default=None)
    masked = [x for x in slow.accesses if x.masked]
    if g is not None and g.times >= sum(x.elements / max(x.lanes, 1) for x in masked):
        other = sum(x.times for x in fast.guards)
        text = f"The slower one asks `{g.text}` {amount(g.times)} times in `{g.loop}`"
        return (
            f"{text}; the faster one asks {amount(other)} times." if other else f"{text}; the faster one need not.",
            g.loop,
        )
    if not masked:
        return None
    a = max(masked, key=lambda x: x.elements)
    text = f"The split does not divide: the slower one works on {a.buffer} with masked vectors of {a.lanes}, "
    text += f"{amount(a.elements / a.lanes)} times"
    ratio = (slow.metrics.flops or 0) / (fast.metrics.flops or 1)
    extra = f", and on {ratio:.2f} times as many lanes" if ratio > 1.005 else ""
    return f"{text}{extra}.", ""


def short_loops(slow: Facts, fast: Facts, machine: Machine) -> Said | None:
    a, b = _busiest(slow), _busiest(fast)
    if a is None:
        return None
    text = f"In the slower one the innermost loop `{a.name}` has {a.extent:,} iterations"
    text += f" and starts {amount(a.starts)} times"
    if a.kind == "vector" and not a.name:
        text = f"The slower one has {amount(a.starts)} short pieces of {a.extent} elements"
    if b is None or b.starts >= a.starts:
        return f"{text}.", a.name
    rest = (
        f"`{b.name}` {amount(b.starts)} times" if b.name else f"pieces of {b.extent} elements {amount(b.starts)} times"
    )
    before = {x.name for x in slow.metrics.levels if x.kind == "unrolled"}
    unrolled = [x.name for x in fast.metrics.levels if x.kind == "unrolled" and x.name not in before and x.runs]
    tail = f" (`{unrolled[0]}` is unrolled)" if unrolled else ""
    return f"{text}; in the faster one {rest}{tail}.", a.name


def _busiest(f: Facts) -> Inner | None:
    return max(f.inner, key=lambda x: x.starts + x.iterations, default=None)


def launches(slow: Facts, fast: Facts, machine: Machine) -> Said | None:
    r = max((r for r in slow.metrics.regions if r.tasks > 1), key=lambda r: r.runs, default=None)
    if r is None:
        return None
    each = size(r.bytes / max(1, r.runs * r.tasks))
    text = f"The slower one starts the parallel loop `{r.name}` {amount(r.runs)} times, a task moves only {each}"
    other = _region(fast)
    return (
        f"{text}; the faster one starts `{other.name}` {amount(other.runs)} times." if other else f"{text}."
    ), r.name
