"""Each of the 103 ATen overloads of mlsdk.md 7.2 is exercised by a case that other tests compare with eager torch."""

from pathlib import Path

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from tests.frontend.op_cases import CASES
from tests.frontend.test_ops import training_function
from tests.frontend.zoo import BUILDERS
from tests.frontend.zoo.program import eagerly

NEEDED = (Path(__file__).parents[1] / "data" / "aten_overloads.txt").read_text().split()


class Recorder(TorchDispatchMode):
    """Notes every ATen overload that runs, `.default` left out."""

    def __init__(self):
        super().__init__()
        self.seen = set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen.add(str(func).removeprefix("aten.").removesuffix(".default"))
        return func(*args, **(kwargs or {}))


@pytest.fixture(scope="module")
def seen():
    programs = [build() for build in BUILDERS.values()]
    steps = [training_function(*case) for case in CASES.values()]
    with Recorder() as recorder:
        for step in steps:
            step({"scale": torch.tensor(1.25)})
        for program in programs:
            eagerly(program)
    return recorder.seen


def test_the_list_is_whole():
    assert len(set(NEEDED)) == len(NEEDED) == 103
    assert sorted(NEEDED) == NEEDED


@pytest.mark.parametrize("name", NEEDED)
def test_overload_is_exercised(name, seen):
    assert name in seen
