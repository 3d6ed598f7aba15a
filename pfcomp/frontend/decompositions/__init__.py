"""Which ATen operators are rewritten as others while a trace is functionalised.

An operator that has a lowering is kept. For the others torch's own decompositions apply, and before them ours, which
exist where torch has none or where its choice is wrong for us (frontend.md 2).
"""

from pfcomp.frontend.decompositions.table import decomposition_table

__all__ = ["decomposition_table"]
