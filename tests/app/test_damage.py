"""Damaged, cut, foreign and hostile apps: always a typed error of one line, never a crash, never a wrong app."""

import hashlib
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pfcomp.app import load_app, loader, serialize
from pfcomp.app.flatread import Broken, read_flat
from pfcomp.app.flatwrite import write_flat
from pfcomp.app.model import GPFNApp
from pfcomp.app.schema import IDENTIFIER
from pfcomp.app.sections import SECTIONS
from pfcomp.artifacts import compress
from pfcomp.errors import ArtifactError
from pfcomp.isa import parse
from tests.app.apps import add_app, full_app

APP = serialize(add_app())
FULL = serialize(full_app())


def sealed(body: bytes) -> bytes:
    return body + hashlib.sha256(body).digest()


def refused(data: bytes) -> str:
    with pytest.raises(ArtifactError) as caught:
        load_app(data, where="model.app")
    text = str(caught.value)
    assert "\n" not in text
    assert re.match(r"PF05\d\d: model\.app(: section \w+)?: .+; .+", text)
    return text


def loads_or_refuses(data: bytes) -> GPFNApp | None:
    try:
        return load_app(data, check=False, where="model.app")
    except ArtifactError as error:
        lines = str(error).splitlines()
    assert len(lines) == 1
    return None


def flips(data: bytes, bits: int = 4):
    """Every byte of `data` with `bits` of its bits flipped, one at a time."""
    for position in range(len(data)):
        for bit in range(position % (8 // bits), 8, 8 // bits):
            damaged = bytearray(data)
            damaged[position] ^= 1 << bit
            yield bytes(damaged)


def test_every_flipped_byte_is_refused():
    for damaged in flips(APP):
        refused(damaged)


def test_every_flipped_byte_of_a_compressed_app_is_refused_or_without_effect():
    """A Zstandard frame has a few bits that no decoder looks at; the content's own seal decides."""
    for damaged in flips(compress(APP), bits=1):
        assert loads_or_refuses(damaged) in (None, add_app())


@pytest.mark.parametrize("wrap", [bytes, compress])
def test_every_truncation_is_refused(wrap):
    data = wrap(APP)
    for size in range(len(data)):
        refused(data[:size])


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_random_damage_of_a_larger_app(data):
    position = data.draw(st.integers(0, len(FULL) - 1))
    size = data.draw(st.integers(0, 8))
    patch = data.draw(st.binary(max_size=8))
    damaged = FULL[:position] + patch + FULL[position + size :]
    if damaged != FULL:
        refused(damaged)


def test_section_borders():
    root = read_flat("App", FULL[:-32])
    for section in root["sections"]:
        begin = FULL.index(section["payload"].tobytes())
        for size in (begin, begin + len(section["payload"])):
            assert "PF0512" in refused(FULL[:size])


def test_every_flip_below_a_valid_seal_is_refused_or_harmless():
    """Whoever recomputes the seal still meets the checks of structure, sections and meaning."""
    body = bytearray(APP[:-32])
    for position in range(0, len(body), 2):
        body[position] ^= 1 << position // 2 % 8
        loads_or_refuses(sealed(bytes(body)))
        body[position] ^= 1 << position // 2 % 8


def with_section(name: str, content: bytes, **fields: object) -> bytes:
    root = read_flat("App", FULL[:-32])
    for section in root["sections"]:
        if section["name"] == name:
            digest = hashlib.sha256(content).digest()
            section.update(raw_size=len(content), sha256=digest, payload=compress(content))
            section.update(fields)
    return sealed(write_flat("App", root, IDENTIFIER))


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(sorted(SECTIONS)), st.data())
def test_damage_inside_of_a_section_is_refused_or_harmless(name, data):
    content = bytearray(SECTIONS[name].encode(getattr(full_app(), name)))
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    loads_or_refuses(with_section(name, bytes(content)))


def test_a_section_that_differs_from_its_digest():
    content = SECTIONS["debug"].encode(full_app().debug)
    data = with_section("debug", content, sha256=b"\0" * 32)
    assert refused(data).startswith("PF0512: model.app: section debug: content differs")


def test_a_section_that_claims_another_size():
    content = SECTIONS["debug"].encode(full_app().debug)
    assert "PF0504" in refused(with_section("debug", content, raw_size=3))
    assert "PF0512" in refused(with_section("debug", content, raw_size=len(content) + 1))
    assert "PF0513" in refused(with_section("debug", content, raw_size=1 << 62))
    assert "PF0503" in refused(with_section("debug", content, payload=b"nonsense"))


def test_a_decompression_bomb_stays_small():
    bomb = compress(bytes(64 << 20))
    data = with_section("debug", b"", payload=bomb, raw_size=64)
    assert "PF0504" in refused(data)


def test_foreign_files():
    assert refused(b"") == ("PF0510: model.app: the file is empty; give a model.app or the folder that holds it")
    assert "not a GPFNApp" in refused(b"\x7fELF" * 100)
    assert "not a GPFNApp" in refused(compress(b"{}" * 100))


def test_other_versions():
    root = read_flat("App", APP[:-32])
    newer = write_flat("App", root | {"format_version": 2}, IDENTIFIER)
    assert "PF0511: model.app: format 2, schema" in refused(sealed(newer))
    other = write_flat("App", root | {"schema_hash": "0" * 16}, IDENTIFIER)
    assert "PF0511" in refused(sealed(other))
    assert "or of format 2" in refused(newer + bytes(32))


def test_missing_parts():
    root = read_flat("App", APP[:-32])
    assert "PF0513" in refused(sealed(write_flat("App", root | {"producer": None}, IDENTIFIER)))
    assert "PF0513" in refused(sealed(write_flat("App", root | {"sections": root["sections"][1:]}, IDENTIFIER)))
    assert "PF0513" in refused(sealed(write_flat("App", root | {"sections": None}, IDENTIFIER)))


def test_the_reader_checks_every_offset():
    data = write_flat("StatisticsTable", {"names": ["a", "b"], "values": [1, 2]})
    for position in range(len(data)):
        for value in (0, 255):
            damaged = data[:position] + bytes([value]) + data[position + 1 :]
            try:
                read_flat("StatisticsTable", damaged)
            except Broken:
                continue
    with pytest.raises(Broken):
        read_flat("StatisticsTable", b"")


def test_a_program_that_breaks_the_chips_rules():
    program = parse("fvadd $lm0v $ln0v $lm8v")
    app = GPFNApp((), (), (), (), program, (), (), ())
    text = refused(serialize(app))
    assert "PF0515: model.app: program breaks 1 rules; the first: 16.5 at statement 0" in text
    assert load_app(serialize(app), check=False).program == program


def test_the_rules_are_applied_once_for_the_same_program(monkeypatch):
    calls = []
    monkeypatch.setattr(loader, "_PASSED", set())
    monkeypatch.setattr(loader, "check_program", lambda program, where: calls.append(program))
    for _ in range(3):
        load_app(APP)
        load_app(FULL)
    assert calls == [add_app().program]


def test_a_missing_file(tmp_path):
    with pytest.raises(ArtifactError, match=r"PF0501: .*none\.app: cannot be read \(No such file"):
        load_app(tmp_path / "none.app")
