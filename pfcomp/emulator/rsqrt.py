"""The reciprocal square root table (isa.md 9.4), the one place of its UNCERTAIN entries.

With x = 2^E · 1.m and k = the top four mantissa bits: y = t[k]/64 · 2^-(E >> 1), t from the even table for even E and
from the odd table for odd E. Entries 1 to 11 of the even table are verified, the others follow the same formula.
"""

from __future__ import annotations

TABLE_EVEN = (63, 62, 60, 58, 57, 55, 54, 53, 52, 51, 50, 49, 48, 47, 46, 45)
TABLE_ODD = (45, 43, 42, 41, 40, 39, 38, 37, 36, 36, 35, 34, 34, 33, 33, 32)
ZERO_RESULT_IS_INFINITE = True  # rsqrt(0) = +inf; False would give +0
INFINITE_RESULT_IS_INFINITE = False  # rsqrt(inf) = +0
