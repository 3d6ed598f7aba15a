"""MNDevice, CacheOptions and storage."""

from pathlib import Path

import pytest

from mlsdk import CacheOptions, MNDevice, storage
from pfcomp.errors import PfcompError


def test_names_a_device_and_is_no_string():
    device = MNDevice("mncore2:auto")
    assert device.device_name == "mncore2:auto"
    assert device == MNDevice("mncore2:auto")
    assert device != "mncore2:auto"
    assert device not in ["cpu", "cuda"]


@pytest.mark.parametrize("text", ["emu2:0", "pfvm:mncore2", "mncore2:mnc2p28s0", "pfvm:gpu"])
def test_refuses_other_strings(text):
    with pytest.raises(PfcompError, match="PF0601"):
        MNDevice(text)


def test_cache_options():
    assert CacheOptions("/tmp/cache").cache_dir == "/tmp/cache"
    options = CacheOptions("c", enable_app_cache=False, enable_onnx_cache=False, enable_codegen_cache=False,
                           enable_gpfn2obj_cache=False)  # fmt: skip
    assert not options.enable_app_cache


def test_storage_path():
    assert storage.path(target="/tmp/x") / "y" == Path("/tmp/x/y")
