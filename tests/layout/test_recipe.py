"""Which instructions move an image, for every combination of classes."""

import pytest

from pfcomp.layout import Layout, padded_shape
from pfcomp.layout.image import ImageSpec
from pfcomp.layout.recipe import MvForm, load_recipe, store_recipe

LOADS = {
    # text: (L2BM form, steps, L1BM form, steps, wide form)
    "((3:1), (1:1, 2_W:1, 4_PE:1))": ("l2bmb", 1, "l1bmm", 1, True),
    "((8_L2B:1, 8_L1B:1, 4_MAB:4), (4_MAB:1, 32:1, 4_PE:1, 2_W:1))": ("l2bmd", 64, "l1bmd", 8, False),
    "((8_L2B:1, 2:128, 16_MAB:1), (128:1, 4_PE:1, 2_W:1))": ("l2bmb", 256, "l1bmd", 64, False),
    "((16:1), (8_MAB:2, 8_L1B:1, 2_MAB:1, 4_PE:1, 2_W:1))": ("l2bmd", 32, "l1bmd", 4, False),
    "((5:7), (7:1), (5:35, 2_PE:1, 4_L1B:2))": ("l2bmb2", 11, "l1bmm", 44, True),
    "((8:7), (7:1, 4_MAB:4, 4_PE:1))": ("l2bmb", 14, "l1bmm4", 14, False),
    "((100:1), (3:100))": ("l2bmb", 5, "l1bmp", 75, False),
}


@pytest.mark.parametrize("text", LOADS)
def test_load(text):
    layout = Layout.parse(text)
    spec = ImageSpec.of(layout, padded_shape(layout), 32)
    recipe = load_recipe(spec)
    forms = (recipe.l2bm.mnemonic, recipe.l2bm_steps, recipe.l1bm.mnemonic, recipe.l1bm_steps, recipe.wide is not None)
    assert forms == LOADS[text]
    assert recipe.l2bm_steps * recipe.l2bm.outer_words >= spec.l2bm_words
    assert recipe.l1bm_steps * recipe.l1bm.outer_words >= spec.l1bm_words
    if spec.l2b_split:
        assert [move.offset for move in recipe.moves] == [0, spec.region_words]
    else:
        assert recipe.moves == (MvForm("mvb2", None, 0, spec.region_words),)


STORES = {
    "((3:1), (1:1, 2_W:1, 4_PE:1))": ("l2bm@0", "l1bmm@0", True),
    "((8_L2B:1, 8_L1B:1, 16_MAB:1))": ("l2bmd", "l1bmd", False),
    "((8_L2B:1, 4_L1B:2, 4_MAB:4))": ("l2bmr2lbor", "l1bmm4@0", False),
    "((100:1), (3:100))": ("l2bm@0", "l1bmm@0", False),
}


@pytest.mark.parametrize("text", STORES)
def test_store(text):
    layout = Layout.parse(text)
    spec = ImageSpec.of(layout, padded_shape(layout), 32)
    recipe = store_recipe(spec)
    assert (recipe.l2bm.mnemonic, recipe.l1bm.mnemonic, recipe.wide is not None) == STORES[text]
    assert recipe.l1bm.gathered == (spec.pe_bits == 0)
    assert sum(move.words for move in recipe.moves) >= spec.slice_words
    assert recipe.moves[0] == MvForm("mvp", 0, 0, spec.region_words)


def test_uncertain_forms_are_marked():
    layout = Layout.parse("((8_L2B:1, 4_L1B:2, 4_MAB:4))")
    spec = ImageSpec.of(layout, padded_shape(layout), 32)
    for recipe in (load_recipe(spec), store_recipe(spec)):
        assert not recipe.l2bm.certain
        assert not recipe.l1bm.certain
