"""TensorProxy as a tensor: everything the SDK's programs do with one."""

import numpy as np
import pytest
import torch

from mlsdk.proxy import TensorProxy
from pfcomp.runtime.handle import HostValue
from pfcomp.runtime.iospec import IOSpec


class Counting(HostValue):
    reads = 0

    def read(self):
        self.reads += 1
        return super().read()


def proxy_of(values, torch_dtype="Float"):
    array = np.array(values)
    spec = IOSpec("out", array.shape, torch_dtype, torch_dtype)
    return TensorProxy(Counting(spec, array.astype(spec.host_type)))


@pytest.fixture
def proxy():
    return proxy_of([[1, 2, 3], [4, 5, 6]])


def test_shape_and_type_need_no_transfer(proxy):
    assert proxy.shape == (2, 3)
    assert proxy.dtype is torch.float32
    assert proxy.numel() == 6
    assert "out" in repr(proxy)
    assert proxy.handle.reads == 0


def test_cpu_gives_independent_tensors(proxy):
    first = proxy.cpu()
    first.zero_()
    assert proxy.cpu().sum() == 21


def test_host_copy_is_fetched_once_per_version(proxy):
    assert proxy.sum() == proxy.mean() * 6
    assert proxy.handle.reads == 1
    proxy.load_from(torch.zeros(2, 3))
    assert proxy.sum() == 0
    assert proxy.handle.reads == 2


def test_item():
    assert proxy_of(2.5).item() == 2.5
    assert proxy_of([7], "Long").item() == 7
    with pytest.raises(RuntimeError):
        proxy_of([1, 2]).item()


def test_what_programs_do(proxy):
    tensor = proxy.cpu()
    assert torch.equal(proxy.detach().view(-1, 2), tensor.view(-1, 2))
    assert [part.shape for part in proxy.split(2, dim=1)] == [(2, 2), (2, 1)]
    assert [part.tolist() for part in proxy.chunk(2)] == [[[1, 2, 3]], [[4, 5, 6]]]
    assert torch.equal(torch.cat([proxy, proxy]), torch.cat([tensor, tensor]))
    assert torch.equal(proxy - 2 * proxy, -tensor)
    assert torch.equal(proxy[:, -torch.tensor(2) :], tensor[:, 1:])
    assert (proxy - tensor).abs().max() == 0
    assert torch.allclose(proxy, tensor)
    assert torch.allclose(tensor, proxy)
    assert torch.topk(proxy, 1).values.tolist() == [[3], [6]]
    assert torch.equal(proxy.softmax(1), torch.nn.functional.softmax(proxy, 1))
    assert [row.tolist() for row in proxy] == tensor.tolist()
    assert torch.equal(torch.ones(3) @ proxy.T, tensor.sum(1))
    assert torch.equal(torch.ones(2, 3) + proxy, tensor + 1)
    assert torch.equal(proxy[proxy > 3], tensor[tensor > 3])
    assert len(proxy) == 2
    assert float(proxy[0, 0]) == 1
    assert np.asarray(proxy).tolist() == tensor.tolist()
    assert np.asarray(proxy, dtype=np.int64).dtype == np.int64
    assert bool(proxy_of([1]))
    assert int(proxy_of([3], "Long")) == 3


def test_changes_in_place_reach_the_device(proxy):
    proxy[0, 0] = 10
    proxy.mul_(2).add_(1)
    proxy += 1
    torch.nn.functional.relu_(proxy)
    torch.add(proxy, 1, out=proxy)
    assert proxy.handle.read()[0, 0] == 23
    assert isinstance(proxy, TensorProxy)


def test_load_from(proxy):
    proxy.load_from(torch.arange(6).reshape(3, 2), clone=False)
    assert proxy.cpu().tolist() == [[0, 1, 2], [3, 4, 5]]
    source = torch.ones(2, 3)
    proxy.load_from(source)
    source.zero_()
    assert proxy.cpu().sum() == 6
    proxy.load_from(proxy_of([[9, 9, 9], [9, 9, 9]]))
    assert proxy.cpu().sum() == 54
    with pytest.raises(RuntimeError, match=r"shape '\[2, 3\]' is invalid for input of size 5"):
        proxy.load_from(torch.ones(5))


def test_types():
    assert proxy_of([1.5], "BFloat16").cpu().dtype is torch.bfloat16
    assert proxy_of([True], "Bool").cpu().dtype is torch.bool
    assert not hasattr(proxy_of([1]), "no_such_attribute")
    assert len({proxy_of([1]), proxy_of([1])}) == 2
