"""Which words of a line have a colour: (start, end, class), class one of word, mark, number, comment, string."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from ..core.text import words
from .payload import Span

Finder = Callable[[str], list[Span]]
LONGEST = 2000  # letters; what is behind them stays plain


@lru_cache(maxsize=16384)
def _python(text: str) -> tuple[Span, ...]:
    return tuple(words(text))


def python(text: str) -> list[Span]:
    """Of the loop text, and of generated Python. Lines recur from step to step, so they are remembered."""
    return list(_python(text)) if len(text) <= LONGEST else list(_python(text[:LONGEST]))


def in_browser(text: str, spans: list[Span]) -> list[Span]:
    """The places as a browser counts them, where a letter such as an emoji is two."""
    if text.isascii() or max(text, default="") <= "\uffff":
        return spans
    before = [0]
    for letter in text:
        before.append(before[-1] + 1 + (letter > "\uffff"))
    return [(before[a], before[b], kind) for a, b, kind in spans]


def _by(pattern: str) -> Finder:
    """A finder whose groups are named by their classes; `skip` is matched and left plain."""
    compiled = re.compile(pattern)

    def find(text: str) -> list[Span]:
        matches = compiled.finditer(text, 0, LONGEST)
        return [(m.start(), m.end(), str(m.lastgroup)) for m in matches if m.lastgroup not in (None, "skip")]

    return find


STRING = r'(?P<string>"(?:[^"\\]|\\.)*")'
NUMBER = r"(?P<number>(?<![\w.%@$])-?(?:0x[0-9A-Fa-f]+|\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)\b)"

llvm = _by(
    rf"(?P<comment>;.*)|{STRING}|(?P<skip>[%@!#$][\w.$-]+|[\w.$-]+:)|"
    r"(?P<mark><\d+ x [\w*]+>)|"
    r"(?P<word>\b(?:define|declare|target|triple|datalayout|attributes|private|internal|linkonce_odr|noalias|nonnull|"
    r"nocapture|readonly|align|inbounds|alloca|load|store|getelementptr|br|label|ret|phi|call|tail|select|icmp|fcmp|add|"
    r"sub|mul|sdiv|udiv|srem|urem|fadd|fsub|fmul|fdiv|frem|fneg|and|or|xor|shl|lshr|ashr|sext|zext|trunc|bitcast|sitofp|"
    r"uitofp|fptosi|fptoui|fpext|fptrunc|inttoptr|ptrtoint|extractelement|insertelement|shufflevector|extractvalue|"
    r"insertvalue|unreachable|switch|true|false|null|undef|poison|zeroinitializer|fast|nsw|nuw|void|to)\b)|"
    rf"{NUMBER}"
)
asm = _by(
    rf"(?P<comment>(?:\#|//|@\s).*)|{STRING}|(?P<word>^[\w.$]+:|^\s*\.[\w.]+)|(?P<mark>%[xyzk]mm\d+|\b[vq]\d+\.\w+)|"
    r"(?P<number>\$-?(?:0x[0-9A-Fa-f]+|\d+)\b|(?<![\w.%])-?(?:0x[0-9A-Fa-f]+|\d+)\b)|(?P<skip>[%$.@][\w.@]+)"
)
c = _by(
    rf"(?P<comment>//.*|/\*.*?\*/)|{STRING}|"
    r"(?P<mark>#\s*pragma.*|\b__\w+\b)|"
    r"(?P<word>\b(?:for|if|else|while|do|return|void|const|restrict|static|inline|extern|struct|int|long|short|char|"
    r"float|double|half|bool|unsigned|signed|int8_t|int16_t|int32_t|int64_t|uint8_t|uint16_t|uint32_t|uint64_t|size_t|"
    r"true|false|kernel|global|local|device|constant|threadgroup)\b)|"
    r"(?P<number>(?<![\w.])(?:0x[0-9A-Fa-f]+|\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)[fFuUlL]*\b)"
)

BY_SYNTAX = {"python": python, "llvm": llvm, "asm": asm, "c": c}
