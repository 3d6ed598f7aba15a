"""MNDevice: a name of a device (mlsdk.md 1.2)."""

from __future__ import annotations

from dataclasses import dataclass, field

from pfcomp.runtime.devices import Device, parse_device


@dataclass(frozen=True)
class MNDevice:
    """Names a device; takes no lock. Raises PfcompError PF0601 for a string that is not one.

    Strings: `mncore2:auto`, `mncore2:<index>`, `emu2`, `pfvm:cpu`, `pfvm:cuda`, `pfvm:cuda:<index>`.
    """

    device_name: str
    device: Device = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "device", parse_device(self.device_name))
