"""Every program of the zoo: eager torch against onnxruntime on the export and PFVM after the passes.

Also onnxruntime before and after each pass.
"""

import pytest
import torch

from tests.frontend.zoo import BUILDERS
from tests.frontend.zoo.program import compare
from tests.passes.agreement import agreeing


@pytest.mark.parametrize("name", BUILDERS)
def test_program_equals_torch(name):
    torch.manual_seed(0)
    result = compare(BUILDERS[name](), agreeing)
    assert result.name == name
    assert result.worst <= result.tolerance
