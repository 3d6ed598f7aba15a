"""What happens to infinite operands of additions: the one place of isa.md 18.1 and 18.3's UNCERTAIN points.

Readings taken: an all-ones exponent is a true infinity; infinity times zero is zero; infinity plus anything finite is
that infinity; the sum of infinities of opposite sign is +0 (they cancel like equal numbers).
"""

from __future__ import annotations

CANCELLED_BITS = 0  # bit pattern of inf - inf, in every format
