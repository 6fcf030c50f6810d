"""Index arithmetic in one canonical form: an integer linear combination of atoms, plus a constant.

    4*i + j - 3        terms {i: 4, j: 1}, const -3
    atoms              variables; floor quotients `x // d` and remainders `x % d`; products (`i*n`);
                       anything else, kept as an opaque expression

`Facts` holds what is known about variables (inclusive bounds, outermost first) and conditions (each >= 0);
`lower` and `upper` bound a form by eliminating the innermost variable first, so bounds may depend on outer loops.
Division rounds towards minus infinity. By contract index arithmetic does not overflow.
"""

from .arith import floordiv, floormod, larger, lin, smaller, within  # first: the others refer to each other through it
from .bound import bounds, lower, mentions, nonneg, relax, upper
from .facts import NEGATED, NOTHING, Facts, conditions, conjuncts, operands, reads_memory, touches_memory
from .form import Atom, Lin, number, opaque, product, structure, to_expr, var
from .rules import decide, loads, simplify

__all__ = [
    "NEGATED", "NOTHING", "Atom", "Facts", "Lin", "bounds", "conditions", "conjuncts", "decide", "floordiv",
    "floormod", "larger", "lin", "loads", "lower", "mentions", "nonneg", "number", "opaque", "operands", "product",
    "reads_memory", "relax", "simplify", "smaller", "structure", "to_expr", "touches_memory", "upper", "var",
    "within",
]  # fmt: skip
