"""Device strings and the boards behind them."""

import pytest

from pfcomp.errors import DeviceError, UsageError
from pfcomp.runtime.devices import DeviceKind, board_count, candidate_boards, find_board, parse_device

ACCEPTED = [
    ("mncore2:auto", DeviceKind.BOARD, None, ""),
    ("mncore2:0", DeviceKind.BOARD, 0, ""),
    ("mncore2:17", DeviceKind.BOARD, 17, ""),
    ("emu2", DeviceKind.PRIVATE, None, ""),
    ("pfvm:cpu", DeviceKind.PFVM, None, "cpu"),
    ("pfvm:cuda", DeviceKind.PFVM, None, "cuda"),
    ("pfvm:cuda:1", DeviceKind.PFVM, 1, "cuda"),
]

REFUSED = [
    ("emu2:0", "write `emu2`"),
    ("mncore2:mnc2p28s0", "by index, not by name"),
    ("mncore2:-1", "mncore2:auto"),
    ("mncore2", "mncore2:auto"),
    ("pfvm:mncore2", "mncore2:auto"),
    ("pfvm:gpu", "pfvm:cuda"),
    ("pfvm", "pfvm:cpu"),
    ("cuda", "pfvm:cuda"),
    ("toaster", "mncore2:auto, mncore2:<index>, emu2, pfvm:cpu"),
    ("", "emu2"),
]


@pytest.mark.parametrize(("text", "kind", "index", "provider"), ACCEPTED)
def test_accepted(text, kind, index, provider):
    device = parse_device(text)
    assert (device.text, device.kind, device.index, device.provider) == (text, kind, index, provider)


@pytest.mark.parametrize(("text", "advice"), REFUSED)
def test_refused_in_one_line_with_advice(text, advice):
    with pytest.raises(UsageError) as caught:
        parse_device(text)
    assert caught.value.code == "PF0601"
    assert advice in str(caught.value)
    assert "\n" not in str(caught.value)


def test_number_of_boards(monkeypatch):
    monkeypatch.delenv("PFCOMP_BOARDS", raising=False)
    assert board_count() == 1
    monkeypatch.setenv("PFCOMP_BOARDS", "3")
    assert candidate_boards(parse_device("mncore2:auto")) == (0, 1, 2)
    assert candidate_boards(parse_device("mncore2:2")) == (2,)
    assert find_board("mnc2emu1") == find_board("1") == 1
    for missing in (lambda: candidate_boards(parse_device("mncore2:3")), lambda: find_board("mnc2emu3")):
        with pytest.raises(DeviceError, match="PF0603"):
            missing()


@pytest.mark.parametrize("value", ["0", "-1", "many", "65"])
def test_bad_number_of_boards(monkeypatch, value):
    monkeypatch.setenv("PFCOMP_BOARDS", value)
    with pytest.raises(UsageError, match="PF0602"):
        board_count()
