"""Optimizers whose whole state is tensors that exist from the start, so that a step can be compiled (mlsdk.md 1.7)."""

from pfcomp.frontend.optim.adam import MNCoreAdam, MNCoreAdamW
from pfcomp.frontend.optim.base import MNCoreOptimizer
from pfcomp.frontend.optim.schedule import MNCoreLRScheduler
from pfcomp.frontend.optim.sgd import MNCoreSGD

__all__ = ["MNCoreAdam", "MNCoreAdamW", "MNCoreLRScheduler", "MNCoreOptimizer", "MNCoreSGD"]
