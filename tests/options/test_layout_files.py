"""Files of forced layouts: their form, one-line errors that name the entry, and what of them enters the digests."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pfcomp.errors import UsageError
from pfcomp.options import resolve
from pfcomp.options.layout_files import operator_entries, product_entries

LAYOUT = "((3:1), (2_W:1, 4_PE:1))"
ADD = {"trigger": "FixOutput", "op_type": "Add", "shape": [3, 8], "layout": LAYOUT}
PRODUCT = {"key": "embed", "A": LAYOUT, "BT": LAYOUT, "C": LAYOUT}


def without(entry: dict[str, object], name: str) -> dict[str, object]:
    return {key: value for key, value in entry.items() if key != name}


def test_entries_are_read() -> None:
    (entry,) = operator_entries([ADD])
    assert (entry.trigger, entry.op_type, entry.shape, str(entry.layout)) == ("FixOutput", "Add", (3, 8), LAYOUT)
    (product,) = product_entries([without(PRODUCT, "BT")])
    assert (product.key, {k: str(v) for k, v in product.layouts.items()}) == ("embed", {"A": LAYOUT, "C": LAYOUT})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (ADD, r"is not a JSON list; write \["),
        ([ADD, "x"], "entry 1: is not a JSON object; give it the keys trigger, op_type, shape, layout"),
        ([ADD | {"shap": 1}], "entry 0: unknown key 'shap'; the keys are trigger, op_type, shape, layout"),
        ([without(ADD, "layout")], "entry 0: the key 'layout' is missing; the keys are"),
        ([ADD | {"trigger": "Fix"}], "entry 0: trigger cannot be 'Fix'; write SwitchInput or FixOutput"),
        ([ADD | {"op_type": 3}], "entry 0: op_type cannot be 3; write the name of an operator"),
        ([ADD | {"shape": [3, 0]}], r"entry 0: shape cannot be \[3, 0\]; write a list of positive integers"),
        ([ADD | {"shape": [True]}], r"entry 0: shape cannot be \[True\]"),
        ([ADD | {"layout": [1]}], r"entry 0: layout cannot be \[1\]; write a layout text"),
        ([ADD | {"layout": "((3:1)"}], r"entry 0: layout cannot be read: expected .* column 7\); see docs/layout.md"),
        ([ADD, ADD], r"entry 1: repeats entry 0 \(FixOutput Add \[3, 8\]\); remove one of the two"),
    ],
)
def test_bad_operator_entries(tmp_path: Path, content: object, message: str) -> None:
    with pytest.raises(UsageError, match=f"^PF0809: option layout_spec.*{message}"):
        resolve({"layout_spec": content})
    file = tmp_path / "spec.json"
    file.write_text(json.dumps(content))
    with pytest.raises(UsageError, match=r"^PF0809: .*spec\.json: option layout_spec") as caught:
        resolve({"layout_spec": file})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({}, r"is not a JSON list; write \[\{\"key\": ...\}, ...\]"),
        ([PRODUCT | {"B": LAYOUT}], "entry 0: unknown key 'B'; the keys are key, A, BT, C"),
        ([without(PRODUCT, "key")], "entry 0: the key 'key' is missing"),
        ([PRODUCT | {"key": ""}], "entry 0: key cannot be ''; write a part of the weight's name"),
        ([{"key": "w"}], "entry 0: demands nothing; give layouts for one or more of A, BT, C"),
        ([PRODUCT, PRODUCT | {"BT": "(3)"}], r"entry 1: BT cannot be read: expected '\('"),
    ],
)
def test_bad_product_entries(content: object, message: str) -> None:
    with pytest.raises(UsageError, match=f"^PF0809: option gemm_layout_spec.*{message}"):
        resolve({"gemm_layout_spec": content})


def test_the_content_enters_the_digest_of_the_schedule_and_the_path_does_not(tmp_path: Path) -> None:
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_text(json.dumps([ADD]))
    first, second = (resolve({"layout_spec": tmp_path / name}) for name in ("a.json", "b.json"))
    assert first.digest() == second.digest()
    assert str(tmp_path) not in json.dumps(first.changed())
    (tmp_path / "a.json").write_text(json.dumps([ADD | {"layout": "((3:4), (8:1))"}]))
    edited = resolve({"layout_spec": tmp_path / "a.json"})
    assert edited.digest("schedule") != second.digest("schedule")
    assert edited.digest("onnx") == second.digest("onnx")


def test_unused_entries_are_allowed_by_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "CODEGEN_ALLOW_UNUSED_LAYOUT_SPEC"
    assert not resolve().flag("allow_unused_layout_spec")
    assert resolve({"envs": {name: "1"}}).flag("allow_unused_layout_spec")
    monkeypatch.setenv(name, "1")
    assert resolve().flag("allow_unused_layout_spec")
    assert not resolve({"envs": {name: "0"}}).flag("allow_unused_layout_spec")


def test_the_examples_of_the_docs_are_right(request: pytest.FixtureRequest) -> None:
    page = (request.config.rootpath / "docs" / "compiler.md").read_text(encoding="utf-8")
    operators, products = (json.loads(block.partition("```")[0]) for block in page.split("```json\n")[1:])
    assert [str(entry) for entry in operator_entries(operators)] == [
        "FixOutput Add [3, 30]",
        "SwitchInput Relu [3, 30]",
    ]
    assert [entry.key for entry in product_entries(products)] == ["embed_tokens"]
