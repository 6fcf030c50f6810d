"""What every iteration computes alike moves before the loop.

    for3:                                     %v5 = load <16 x float>, ptr %B       <- no store of the loop goes to B
      %i = phi ...                            for3:
      %v5 = load <16 x float>, ptr %B           %i = phi ...
      ...                                ->     ...

LLVM's pipeline does this too, but it takes longer than everything else that is done for a kernel of explicit vectors.
Loops whose body is one straight line of code only: each of its instructions runs in every iteration.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

OPERAND = re.compile(r"%[\w.]+")
TARGET = re.compile(r"ptr (?:align \d+ )?(%[\w.]+)")
PURE = frozenset(
    "getelementptr insertelement extractelement shufflevector select icmp fcmp add sub mul shl lshr ashr and or xor"
    " fadd fsub fmul fdiv fneg sext zext trunc fpext fptrunc sitofp uitofp bitcast".split()
)
STORES = ("store ", "call void @llvm.masked.store.")


def hoist(lines: list[str], gate: int, roots: Mapping[str, str]) -> None:
    """lines[gate:] = the jump to a loop, its label, the phi of its variable, its body.

    `roots`: the memory that an address points into; different memory does not overlap.
    """
    jump, label, phi, *body = lines[gate:]
    written = _written(body, roots)
    inside = {phi.split(" = ")[0].strip()}
    moved, kept = [], []
    for line in body:
        name, _, text = line.strip().partition(" = ")
        if text and _movable(text, written, roots) and inside.isdisjoint(OPERAND.findall(text)):
            moved.append(line)
        else:
            kept.append(line)
            inside.add(name)
    if moved:
        lines[gate:] = [*moved, jump, label, phi, *kept]


def _written(body: list[str], roots: Mapping[str, str]) -> set[str] | None:
    """The memory that the body stores to; None when it could be any."""
    found = set()
    for line in body:
        text = line.strip()
        if text.startswith(STORES):
            pointer = TARGET.search(text)
            if pointer is None:
                return None
            found.add(roots.get(pointer[1], pointer[1]))
        elif text.startswith("call ") or (" = call " in text and "@llvm." not in text):
            return None
    return found


def _movable(text: str, written: set[str] | None, roots: Mapping[str, str]) -> bool:
    word = text.split(" ", 1)[0]
    if word != "load":
        return word in PURE
    pointer = TARGET.search(text)
    return written is not None and pointer is not None and roots.get(pointer[1], pointer[1]) not in written
