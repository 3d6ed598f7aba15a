"""Random graphs of all families of operators, every other one with forced layouts, against onnxruntime.

`tools/fuzz_programs.py` runs more of them.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.programs.random_graphs import compare, random_graph
from tests.programs.random_layouts import random_entries


@pytest.mark.parametrize("seed", range(60))
def test_agrees_with_onnxruntime(seed: int, tmp_path: Path) -> None:
    graph = random_graph(seed)
    entries = random_entries(graph, np.random.default_rng(seed)) if seed % 2 else []
    assert compare(graph, tmp_path, entries) > 0
