"""All arithmetic operations by group, for the tests and the table of counts in docs/emulator.md."""

from tests.emulator import operations_alu as alu
from tests.emulator import operations_blocks as blocks
from tests.emulator import operations_mau as mau
from tests.emulator import operations_reduce as reduce

GROUPS = {
    "ALU, every width, signed and unsigned, with flags": alu.ALU,
    "vector MAU in d, f, h, wide and narrow, with flags": mau.MAU,
    "conversions at operand ports": mau.CONVERSIONS,
    "matrix-vector in d, f, g, h, wide and narrow": blocks.MATRIX,
    "`bfn`, `bfe`, all lengths (a case is a block)": blocks.BLOCK,
    "reductions over MABs and L1Bs": reduce.REDUCE,
    "single sums over MABs with half operands or results": reduce.MIXED_SUMS,
    "reductions of moves over 8, 4 and 2 L2Bs": reduce.MOVES,
}
OPERATIONS = {operation.name: operation for group in GROUPS.values() for operation in group}
