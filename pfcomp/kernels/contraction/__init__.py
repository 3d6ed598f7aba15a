"""Contractions: matrix products on the matrix units."""

from pfcomp.kernels.contraction.kernel import Contraction

__all__ = ["Contraction"]
