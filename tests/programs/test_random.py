"""Random graphs of all families of operators against onnxruntime; `tools/fuzz_programs.py` runs more of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.programs.random_graphs import compare, random_graph


@pytest.mark.parametrize("seed", range(60))
def test_agrees_with_onnxruntime(seed: int, tmp_path: Path) -> None:
    assert compare(random_graph(seed), tmp_path) > 0
