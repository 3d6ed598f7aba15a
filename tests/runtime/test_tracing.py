"""Traces: what is recorded, and that the file is a well-formed Perfetto protobuf."""

from pfcomp.runtime.tracing import Slice, recorded, recording, write_perfetto


def fields(data: bytes) -> list[tuple[int, object]]:
    """Decode a protobuf message: (field number, int or bytes)."""
    found, position = [], 0

    def varint() -> int:
        nonlocal position
        value, shift = 0, 0
        while True:
            byte = data[position]
            position += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while position < len(data):
        key = varint()
        if key & 7 == 0:
            found.append((key >> 3, varint()))
        else:
            assert key & 7 == 2
            length = varint()
            found.append((key >> 3, data[position : position + length]))
            position += length
    assert position == len(data)
    return found


def test_nothing_is_recorded_outside_a_scope():
    with recorded("host", "before"):
        pass
    with recording() as slices, recorded("host", "inside"):
        pass
    with recorded("host", "after"):
        pass
    assert [(s.track, s.name) for s in slices] == [("host", "inside")]
    assert slices[0].begin <= slices[0].end


def test_nested_scopes_each_get_their_part():
    with recording() as outer:
        with recorded("host", "first"):
            pass
        with recording() as inner, recorded("host", "second"):
            pass
    assert [s.name for s in inner] == ["second"]
    assert [s.name for s in outer] == ["first", "second"]


def test_file(tmp_path):
    slices = [
        Slice("host", "call add", 1000, 5000),
        Slice("device", "add", 2000, 4000),
        Slice("host", "in", 1000, 1000),
    ]
    write_perfetto(slices, tmp_path / "trace.pb")
    packets = [dict(fields(body)) for number, body in fields((tmp_path / "trace.pb").read_bytes()) if number == 1]
    tracks = {dict(fields(p[60]))[1]: dict(fields(p[60]))[2] for p in packets if 60 in p}
    assert sorted(tracks.values()) == [b"device", b"host"]
    depth = dict.fromkeys(tracks, 0)
    stamps = []
    for packet in packets:
        if 11 not in packet:
            continue
        event = dict(fields(packet[11]))
        stamps.append(packet[8])
        depth[event[11]] += 1 if event[9] == 1 else -1
        assert depth[event[11]] >= 0
    assert set(depth.values()) == {0}
    assert stamps == sorted(stamps)
    assert len(stamps) == 6
