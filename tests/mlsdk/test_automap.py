"""compile_automap: nested arguments and results."""

from dataclasses import dataclass
from typing import NamedTuple

import pytest
import torch

from mlsdk import Context, MNDevice, register_pytree_dataclass, register_pytree_namedtuple
from pfcomp.errors import PfcompError

ONES = torch.ones(3, 4)


@register_pytree_namedtuple
class Pair(NamedTuple):
    first: torch.Tensor
    factor: float


@register_pytree_dataclass
@dataclass
class Record:
    value: torch.Tensor


def combine(values, *, pair, record):
    total = values[0] + values[1][0] + pair.first * pair.factor
    return {"sum": total, "rest": (Record(record.value - total), [total])}


@pytest.fixture
def compiled(tmp_path):
    arguments = ((ONES, [ONES]),), {"pair": Pair(ONES, 2.0), "record": Record(ONES)}
    return Context(MNDevice("pfvm:cpu")).compile_automap(combine, *arguments, tmp_path)


def test_structures_come_back(compiled):
    result = compiled((ONES, [2 * ONES]), pair=Pair(ONES, 2.0), record=Record(10 * ONES))
    assert torch.equal(result["sum"], 5 * ONES)
    assert isinstance(result["rest"][0], Record)
    assert torch.equal(result["rest"][0].value, 5 * ONES)
    assert torch.equal(result["rest"][1][0], 5 * ONES)


def test_another_structure_is_refused(compiled):
    with pytest.raises(PfcompError, match="PF0617: combine"):
        compiled((ONES, [ONES, ONES]), pair=Pair(ONES, 2.0), record=Record(ONES))


def test_bare_tensor(tmp_path):
    double = Context(MNDevice("pfvm:cpu")).compile_automap(lambda x: x * 2, (ONES,), {}, tmp_path)
    assert torch.equal(double(3 * ONES).cpu(), 6 * ONES)
