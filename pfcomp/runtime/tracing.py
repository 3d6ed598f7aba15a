"""Recording what the host, the queue and the device do, and writing it for Perfetto (mlsdk.md 1.8).

The file is a Perfetto trace in its protobuf form, written by the small encoder below: packets with a track descriptor
for each row and a begin and an end event for each slice.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

# field numbers of perfetto.protos
_TRACE_PACKET = 1
_PACKET_TIMESTAMP, _PACKET_SEQUENCE, _PACKET_EVENT, _PACKET_DESCRIPTOR = 8, 10, 11, 60
_DESCRIPTOR_UUID, _DESCRIPTOR_NAME = 1, 2
_EVENT_TYPE, _EVENT_TRACK, _EVENT_NAME = 9, 11, 23
_SLICE_BEGIN, _SLICE_END = 1, 2


@dataclass(frozen=True, slots=True)
class Slice:
    """Something that took from `begin` to `end` (nanoseconds of the monotonic clock) on the row `track`."""

    track: str
    name: str
    begin: int
    end: int


@dataclass(slots=True)
class Recorder:
    """Collects slices while at least one scope is open; scopes may nest."""

    slices: list[Slice] = field(default_factory=list)
    scopes: int = 0


_RECORDER = Recorder()


_NOTHING: AbstractContextManager[None] = nullcontext()


def recorded(track: str, name: str) -> AbstractContextManager[None]:
    """Record the block as a slice of row `track`; nearly free while no scope is open."""
    return _slice(track, name) if _RECORDER.scopes else _NOTHING


@contextmanager
def _slice(track: str, name: str) -> Iterator[None]:
    begin = time.monotonic_ns()
    try:
        yield
    finally:
        _RECORDER.slices.append(Slice(track, name, begin, time.monotonic_ns()))


def host_track() -> str:
    """Row of the calling thread."""
    thread = threading.current_thread()
    return "host" if thread is threading.main_thread() else f"host {thread.name}"


@contextmanager
def recording() -> Iterator[list[Slice]]:
    """Record inside the block; the list it yields is complete when the block ends."""
    first = len(_RECORDER.slices)
    found: list[Slice] = []
    _RECORDER.scopes += 1
    try:
        yield found
    finally:
        _RECORDER.scopes -= 1
        found += _RECORDER.slices[first:]
        if not _RECORDER.scopes:
            _RECORDER.slices.clear()


def write_perfetto(slices: list[Slice], path: Path) -> None:
    """Write the slices as a Perfetto trace; rows in the order of their first slice."""
    tracks = {name: number + 1 for number, name in enumerate(dict.fromkeys(s.track for s in slices))}
    packets = [_descriptor(name, uuid) for name, uuid in tracks.items()]
    events: list[tuple[int, int, bytes]] = []
    for each in sorted(slices, key=lambda s: (s.begin, -s.end)):
        track = _number(_EVENT_TRACK, tracks[each.track])
        begin = _number(_EVENT_TYPE, _SLICE_BEGIN) + track + _bytes(_EVENT_NAME, each.name.encode())
        events.append((each.begin, 1, begin))
        end = max(each.end, each.begin + 1)  # a slice without length would end before it begins
        events.append((end, 0, _number(_EVENT_TYPE, _SLICE_END) + track))
    for stamp, _, event in sorted(events, key=lambda e: e[:2]):
        packets.append(_number(_PACKET_TIMESTAMP, stamp) + _number(_PACKET_SEQUENCE, 1) + _bytes(_PACKET_EVENT, event))
    path.write_bytes(b"".join(_bytes(_TRACE_PACKET, packet) for packet in packets))


def _descriptor(name: str, uuid: int) -> bytes:
    body = _number(_DESCRIPTOR_UUID, uuid) + _bytes(_DESCRIPTOR_NAME, name.encode())
    return _number(_PACKET_SEQUENCE, 1) + _bytes(_PACKET_DESCRIPTOR, body)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _number(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value)


def _bytes(number: int, body: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(body)) + body
