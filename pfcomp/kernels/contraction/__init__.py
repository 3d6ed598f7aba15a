"""Contractions: matrix products on the matrix units (docs/contraction.md)."""

from pfcomp.kernels.contraction.kernel import Contraction

__all__ = ["Contraction"]
