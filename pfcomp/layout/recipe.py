"""Which instructions move a value between DRAM and the PEs, as data (backend-movement.md 2.2); nothing is emitted here.

A load goes MV (DRAM to L2BM), L2BM form (to L1BM), L1BM form (to the PEs); a store goes the other way. Forms that rest
on untested readings of the manual are marked, so that a caller can keep them behind a switch.
"""

from __future__ import annotations

from dataclasses import dataclass

from pfcomp.layout.imagespec import ImageSpec


@dataclass(frozen=True, slots=True)
class MvForm:
    """One MV: `mnemonic/n{words}` between `$d(base + offset)` and `$lc` or, with `l2b` given, `$lc@.l2b`."""

    mnemonic: str
    l2b: int | None
    offset: int
    words: int


@dataclass(frozen=True, slots=True)
class StepForm:
    """An instruction form of one step.

    `outer_words` are the long words it moves on the side nearer to DRAM; `inner` counts long words of one L1BM for an
    L2BM form and addresses of every PE for an L1BM form. `gathered`: PE p has to supply every fourth address.
    """

    mnemonic: str
    outer_words: int
    inner: int
    certain: bool = True
    gathered: bool = False


@dataclass(frozen=True, slots=True)
class Recipe:
    """How one time slice moves: the MVs, the step forms and how often each is needed.

    `wide` is the `$llb` form with eight addresses per step if it keeps the image's order.
    """

    moves: tuple[MvForm, ...]
    l2bm: StepForm
    l2bm_steps: int
    l1bm: StepForm
    l1bm_steps: int
    wide: StepForm | None = None


_L2BM_LOAD = {
    3: StepForm("l2bmd", 256, 32),
    2: StepForm("l2bmb2", 256, 64, certain=False),
    0: StepForm("l2bmb", 64, 64),
}
_L2BM_STORE = {
    3: StepForm("l2bmd", 256, 32),
    2: StepForm("l2bmr2lbor", 256, 64, certain=False),
    0: StepForm("l2bm@0", 64, 64),
}
_L1BM_LOAD = {
    (4, 2): StepForm("l1bmd", 256, 4),
    (2, 2): StepForm("l1bmm4", 64, 4, certain=False),
    (0, 2): StepForm("l1bmm", 16, 4),
    (0, 0): StepForm("l1bmp", 4, 4),
}
_L1BM_STORE = {
    (4, 2): StepForm("l1bmd", 256, 4),
    (2, 2): StepForm("l1bmm4@0", 64, 4, certain=False),
    (0, 2): StepForm("l1bmm@0", 16, 4),
    (0, 0): StepForm("l1bmm@0", 16, 16, gathered=True),
}
_WIDE = {"l1bmm": StepForm("l1bmm", 32, 8), "l1bmm@0": StepForm("l1bmm@0", 32, 8)}


def load_recipe(spec: ImageSpec) -> Recipe:
    """DRAM to LM of all PEs. An image of one L2B per group goes to both with `mvb2`."""
    moves = _split_moves(spec) if spec.l2b_split else (MvForm("mvb2", None, 0, spec.region_words),)
    return _recipe(spec, moves, _L2BM_LOAD[spec.l1b_bits], _L1BM_LOAD[spec.mab_bits, spec.pe_bits])


def store_recipe(spec: ImageSpec) -> Recipe:
    """LM to DRAM; where places hold copies, those of the first MAB, L1B and L2B are stored.

    The MVs write whole rows of 64 long words, which may be more than the image (backend-movement.md 2.2).
    """
    moves = _split_moves(spec) if spec.l2b_split else (MvForm("mvp", 0, 0, spec.region_words),)
    return _recipe(spec, moves, _L2BM_STORE[spec.l1b_bits], _L1BM_STORE[spec.mab_bits, spec.pe_bits])


def _split_moves(spec: ImageSpec) -> tuple[MvForm, ...]:
    return tuple(MvForm("mvp", l2b, l2b * spec.region_words, spec.region_words) for l2b in (0, 1))


def _recipe(spec: ImageSpec, moves: tuple[MvForm, ...], l2bm: StepForm, l1bm: StepForm) -> Recipe:
    return Recipe(
        moves,
        l2bm,
        -(-spec.l1bm_words // l2bm.inner),
        l1bm,
        -(-spec.addresses // l1bm.inner),
        None if l1bm.gathered else _WIDE.get(l1bm.mnemonic),
    )
