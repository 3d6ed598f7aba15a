"""Apps keep everything through the file, byte-deterministically; relocation and dumps."""

import json
import subprocess
import sys
from dataclasses import replace

import flatbuffers.table
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pfcomp.app import dump_json, dump_text, load_app, relocate, serialize, write_app
from pfcomp.app.dump import disassemble
from pfcomp.app.model import Relocation
from pfcomp.app.schema import IDENTIFIER, parse_schema, schema_text, tables
from pfcomp.app.sections import SECTIONS
from pfcomp.errors import ArtifactError, UnsupportedError, UsageError
from pfcomp.isa import parse
from tests.app.apps import TEXT, add_app, constant, full_app, tensor

SIX_LINES = """\
target_name: GPFN3
inputs:
  x: DRAM@0-16/Float(3,4 PadLayout{(3,4)/((3:1), (1:1, 2_W:1, 4_PE:1); B@[MAB,L1B,L2B])} alias_base=null torch_dtype=Float layout_kind=MNCore)
  y: DRAM@16-32/Float(3,4 PadLayout{(3,4)/((3:1), (1:1, 2_W:1, 4_PE:1); B@[MAB,L1B,L2B])} alias_base=null torch_dtype=Float layout_kind=MNCore)
outputs:
  out: DRAM@32-48/Float(3,4 PadLayout{(3,4)/((3:1), (1:1, 2_W:1, 4_PE:1); B@[MAB,L1B,L2B])} Dirty alias_base=null torch_dtype=Float layout_kind=MNCore)
"""  # noqa: E501


@pytest.mark.parametrize("make", [add_app, full_app])
@pytest.mark.parametrize("name", ["model.app", "model.app.zst"])
def test_file_round_trip(tmp_path, make, name):
    app = make()
    write_app(app, tmp_path / name)
    loaded = load_app(tmp_path / name)
    assert loaded == app
    assert all(np.array_equal(a.image, b.image) for a, b in zip(app.constants, loaded.constants, strict=True))
    assert [p.name for p in tmp_path.iterdir()] == [name]


def test_bytes_do_not_depend_on_the_process():
    code = "from tests.app.apps import full_app; from pfcomp.app import serialize; print(serialize(full_app()).hex())"
    runs = [
        subprocess.run([sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, check=True)
        for seed in ("1", "2")
    ]
    assert runs[0].stdout == runs[1].stdout == serialize(full_app()).hex().encode() + b"\n"


def test_the_file_is_a_flatbuffer_that_stock_readers_understand():
    data = serialize(add_app())
    root = flatbuffers.table.Table(bytearray(data), int.from_bytes(data[:4], "little"))
    assert data[4:8] == IDENTIFIER
    names = [field.name for field in tables()["App"]]
    place = root.Offset(4 + 2 * names.index("target_name"))
    assert root.String(root.Pos + place) == b"GPFN3"


def test_the_schema_describes_every_section():
    assert parse_schema("table A { // comment\n x: uint; y:[Bee]; }")["A"][1].vector
    assert list(SECTIONS) == [
        "inputs",
        "outputs",
        "state",
        "constants",
        "program",
        "relocations",
        "debug",
        "statistics",
    ]
    assert f'file_identifier "{IDENTIFIER.decode()}"' in schema_text()


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.text(min_size=1), st.integers(-(1 << 63), (1 << 63) - 1)), max_size=5))
def test_statistics_keep_any_name_and_number(rows):
    app = replace(add_app(), statistics=tuple(rows))
    assert load_app(serialize(app)).statistics == tuple(rows)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1 << 20).map(lambda n: 16 * n), st.integers(0, 1 << 20).map(lambda n: 16 * n))
def test_relocation_moves_exactly_the_operands_of_the_tensor(base_x, base_out):
    app = add_app()
    program = relocate(app, {"x": base_x, "out": base_out})
    moves = {0: base_x, 1: 16, 16: base_out}
    for index, (old, new) in enumerate(zip(app.program.statements, program.statements, strict=True)):
        if index in moves:
            operand = new.source if index < 2 else new.destination
            assert operand.address.base == moves[index]
        else:
            assert new is old


def test_a_relocated_program_is_the_text_with_other_addresses():
    text = TEXT.replace("$d0", "$d160").replace("$d32", "$d1024")
    assert relocate(add_app(), {"x": 160, "out": 1024}) == parse(text)


def test_relocation_to_where_it_is_costs_nothing():
    app = add_app()
    assert relocate(app, {"x": 0, "y": 16}) is app.program


@pytest.mark.parametrize(
    ("bases", "what"),
    [({"z": 0}, "no tensor 'z'"), ({"x": 8}, "cannot start at 8"), ({"x": -16}, "-16"), ({"x": 1 << 29}, "536870912")],
)
def test_relocation_refuses(bases, what):
    with pytest.raises(UsageError, match=f"PF0516.*{what}"):
        relocate(add_app(), bases)


def test_dump_begins_with_the_six_lines():
    assert dump_text(add_app()).startswith(SIX_LINES)


def test_dump_of_sections_and_nodes():
    app = full_app()
    assert dump_text(app, ["debug"], node="add") == "target_name: GPFN3\ndebug:\n  2-12: add Add add.py:12\n"
    assert "  c: DRAM@192-208/Float(3,4 " in dump_text(app, ["constants"])
    record = dump_json(app)
    assert json.loads(json.dumps(record))["relocations"][1] == {
        "index": 1,
        "operand": "source",
        "tensor": "y",
        "offset": 0,
    }
    assert set(record) == {"target_name", "producer", "options_digest", *SECTIONS}
    with pytest.raises(UsageError, match=r"PF0801: an app has no section 'code'; sections: inputs"):
        dump_text(app, ["code"])
    with pytest.raises(UsageError, match=r"PF0801: the app has no node 'mul'; nodes: add, load"):
        dump_text(app, node="mul")


def test_disassembly_parses_back_to_the_program():
    app = add_app()
    assert parse(disassemble(app)) == app.program
    assert disassemble(app, node="load").count("\n") == 2


def test_an_app_that_contradicts_itself_is_not_written(tmp_path):
    app = replace(add_app(), inputs=(tensor("x", 8), tensor("y", 16)))
    with pytest.raises(ArtifactError, match="PF0514"):
        write_app(app, tmp_path / "model.app")
    assert list(tmp_path.iterdir()) == []


def test_a_hole_in_the_relocations_is_seen():
    app = add_app()
    with pytest.raises(ArtifactError, match="the DRAM source of statement 1 has no relocation"):
        serialize(replace(app, relocations=(app.relocations[0], app.relocations[2])))


BAD_APPS = {
    "built for target 'GPFN4'": lambda a: {"target_name": "GPFN4"},
    "unknown element type": lambda a: {"inputs": (replace(a.inputs[0], dtype="Quad"), a.inputs[1])},
    "unknown layout kind": lambda a: {"inputs": (replace(a.inputs[0], layout_kind="Other"), a.inputs[1])},
    "not within DRAM": lambda a: {"inputs": (replace(a.inputs[0], begin=1 << 30, end=(1 << 30) + 16), a.inputs[1])},
    "needs 16 long words": lambda a: {"outputs": (replace(a.outputs[0], end=64),)},
    "does not fit the layout": lambda a: {"outputs": (replace(a.outputs[0], shape=(4, 4)),)},
    "has no name": lambda a: {"state": (tensor("", 64),)},
    "is used for two tensors": lambda a: {"state": (tensor("x", 64),)},
    "alias of the unknown 'q'": lambda a: {"state": (tensor("s", 64, alias_base="q"),)},
    "overlap": lambda a: {
        "state": (tensor("s", 64, "PadLayout{(8,4)/((8:1), (4_PE:1))}"), tensor("t", 80)),
    },
    "has an image of": lambda a: {
        "constants": (replace(constant("c", 64, np.zeros((3, 4), np.float32)), image=np.zeros((4, 8), np.uint64)),),
    },
    "names no DRAM operand": lambda a: {"relocations": (*a.relocations, Relocation(2, "source", "x", 0))},
    "names the unknown tensor": lambda a: {"relocations": (replace(a.relocations[0], tensor="q"),)},
    "has the offset 16": lambda a: {"relocations": (replace(a.relocations[0], offset=16),)},
    "does not lead to 0": lambda a: {"relocations": (replace(a.relocations[0], tensor="y"),)},
    "two relocations": lambda a: {"relocations": (*a.relocations, a.relocations[0])},
    "is not within 18 statements": lambda a: {"debug": (replace(a.debug[0], end=99),)},
}


@pytest.mark.parametrize("what", BAD_APPS)
def test_contradictions(what):
    app = add_app()
    with pytest.raises(ArtifactError, match=f"PF0514: .*{what}.*; compile the program again"):
        serialize(replace(app, **BAD_APPS[what](app)))


def test_too_large_for_the_format(monkeypatch):
    monkeypatch.setattr("pfcomp.app.flatwrite._SIZE_LIMIT", 100)
    with pytest.raises(UnsupportedError, match="PF0517"):
        serialize(full_app())
