"""The second pass over a trace where strides are not those of the first."""

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx

from pfcomp.frontend.functional import _SourceKeeper

CONTIGUOUS, TURNED = torch.arange(6.0).reshape(2, 3), torch.arange(6.0).reshape(3, 2).T


def test_a_view_that_other_strides_do_not_admit_becomes_a_copy():
    keeper = _SourceKeeper(make_fx(lambda x: x.view(6) * 2)(CONTIGUOUS))
    assert torch.equal(keeper.run(CONTIGUOUS), CONTIGUOUS.view(6) * 2)
    assert torch.equal(keeper.run(TURNED), TURNED.reshape(6) * 2)


@pytest.mark.parametrize(
    "function",
    [lambda x: x.view(6).add_(1), lambda x: (x.view(6), x.add_(1))[0], lambda x: (x[0].mul_(2), x.view(6))[1]],
    ids=["through the view", "under the view", "part of what it shows"],
)
def test_not_where_something_is_written(function):
    keeper = _SourceKeeper(make_fx(function)(CONTIGUOUS.clone()))
    with pytest.raises(RuntimeError, match="view size is not compatible"):
        keeper.run(TURNED.clone().T.contiguous().T)
