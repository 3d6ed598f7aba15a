"""Every conformance vector, bit for bit, on every engine; expected dumps as identical text."""

import json
from pathlib import Path

import pytest

from pfcomp.emulator import Machine, inspect
from pfcomp.isa import parse
from pfcomp.isa.model import Place
from tests.emulator.chip import AVAILABLE

VECTORS = json.loads((Path(__file__).parents[1] / "data" / "isa_vectors.json").read_text())["vectors"]
PLACES = {
    "LM0": Place.LM0,
    "LM1": Place.LM1,
    "GRF0": Place.GRF0,
    "GRF1": Place.GRF1,
    "T": Place.T,
    "MASK": Place.MASK,
    "L1BM": Place.L1BM,
    "L2BM": Place.L2BM,
    "DRAM": Place.DRAM,
    "PDM": Place.PDM,
}


def put(state, row):
    for ids in inspect.expand(PLACES[row["mem"]], row["ids"]):
        if row["mem"] == "MASK":
            inspect.put_nibbles(state, ids, row["addr"], row["nibbles"])
        else:
            inspect.put(state, PLACES[row["mem"]], ids, row["addr"], [int(word, 16) for word in row["lw"]])


def get(state, row):
    if row["mem"] == "MASK":
        return inspect.nibbles(state, row["ids"], row["addr"])
    words = inspect.get(state, PLACES[row["mem"]], row["ids"], row["addr"], len(row["lw"]))
    return [f"{word:016x}" for word in words]


def test_all_vectors_are_there():
    assert len(VECTORS) == 175


@pytest.mark.parametrize("engine", AVAILABLE)
@pytest.mark.parametrize("vector", VECTORS, ids=[v["name"] for v in VECTORS])
def test_vector(vector, engine):
    machine = Machine(engine)
    for row in vector["init"]:
        put(machine.state, row)
    result = machine.run(machine.load(parse("\n".join(vector["program"]))))
    for row in vector["expect"]:
        assert get(machine.state, row) == row.get("nibbles", row.get("lw"))
    if "expected_dump" in vector:
        assert result.dump == vector["expected_dump"]
