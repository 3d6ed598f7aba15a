"""The option table: values, presets, precedence, digests, warnings, the generated page."""

import json

import pytest

from pfcomp.errors import UsageError
from pfcomp.options import STAGES, TABLE, OptionWarning, load_preset, parse_assignments, preset_names, resolve
from pfcomp.options.page import render


def test_defaults_fill_every_row():
    options = resolve()
    assert dict(options) == {name: row.default for name, row in TABLE.items()}
    assert (options.text("float_dtype"), options.real("sram_budget"), options.flag("backprop")) == ("mixed", 1.0, False)
    assert options.integer("num_threads") == 1
    assert options.mapping("envs") == {}
    assert len(options) == len(TABLE)


def test_the_documented_keys_exist():
    documented = (
        "float_dtype scheduler layout_planner simulation_mode sram_budget sa_expected_run_iters num_threads out_onnx"
        " layout_spec gemm_layout_spec backprop envs"
    )
    assert set(documented.split()) <= set(TABLE)


def test_precedence_is_preset_then_envs_then_options():
    envs = {"envs": {"CODEGEN_SA_STEPS": "5", "CODEGEN_ALARM": "7200"}}
    assert resolve(None, "O2.json").integer("sa_steps") == 1000
    assert resolve(envs, "O2.json").integer("sa_steps") == 5
    assert resolve(envs | {"sa_steps": 3}, "O2.json").integer("sa_steps") == 3
    assert resolve({"option_json": "O2.json"}).integer("sa_steps") == 1000


@pytest.mark.parametrize("name", ["O0.json", "O1.json", "O2.json", "O3.json", "O4.json", "debug.json"])
def test_presets_resolve_by_bare_name(name):
    assert name in preset_names()
    assert resolve(None, name).digest() == resolve(load_preset(name)).digest() == resolve(None, name[:-5]).digest()


def test_an_option_file_by_path_wins_over_a_preset(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "O1.json").write_text('{"float_dtype": "half"}')
    assert resolve(None, "O1.json").text("float_dtype") == "half"
    assert resolve(None, str(tmp_path / "O1.json")).text("float_dtype") == "half"


@pytest.mark.parametrize("text", ["[1]", "{", '"x"'])
def test_malformed_option_files(tmp_path, text):
    path = tmp_path / "o.json"
    path.write_text(text)
    with pytest.raises(UsageError, match=r"PF0803: .*o\.json: option file"):
        resolve(None, path)


def test_a_missing_option_file_lists_the_presets():
    with pytest.raises(UsageError, match=r"PF0803: O9\.json: no such option file; presets: O0\.json, O1\.json"):
        resolve(None, "O9.json")
    with pytest.raises(UsageError, match=r"PF0803"):
        resolve(None, "folder/O1.json")


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("float_dtype", "quad", "float, double, mixed, half"),
        ("sram_budget", 1.5, "a number from 0 to 1"),
        ("sram_budget", "much", "a number from 0 to 1"),
        ("num_threads", "1.5", "an integer from -1"),
        ("backprop", "maybe", "true, false"),
        ("envs", 3, "a mapping"),
        ("envs", "{", "JSON text"),
    ],
)
def test_values_that_are_not_allowed(name, value, allowed):
    with pytest.raises(UsageError, match=f"PF0802: option {name} cannot be .*; allowed: {allowed}"):
        resolve({name: value})


def test_text_of_the_command_line_equals_values_of_programs():
    typed = resolve({"backprop": True, "sram_budget": 0.5, "num_threads": -1, "io_layouts": {"x": "((3:1))"}})
    text = ["backprop=true", "sram_budget=0.5", "num_threads=-1", 'io_layouts={"x": "((3:1))"}']
    assert dict(resolve(parse_assignments(text))) == dict(typed)
    with pytest.raises(UsageError, match=r"PF0802: --option 'x' is not of the form"):
        parse_assignments(["x"])


def test_unknown_keys_warn_with_the_nearest_name():
    with pytest.warns(OptionWarning, match="unknown option 'float_dtyp' ignored; did you mean 'float_dtype'"):
        assert resolve({"float_dtyp": "half"}).text("float_dtype") == "mixed"
    with pytest.warns(OptionWarning, match="unknown option 'zzz' ignored; see `pfcomp options`"):
        resolve({"zzz": 1})


def test_unknown_planners_warn_and_the_default_is_used():
    with pytest.warns(OptionWarning, match="option layout_planner: unknown value 'lpy', using 'lpz'"):
        assert resolve({"layout_planner": "lpy"}).text("layout_planner") == "lpz"


def test_digests_change_exactly_for_the_stages_of_the_row():
    base = resolve()
    for name, value in {
        "scheduler": "spill_opt",
        "simulation_mode": "fast",
        "backprop": True,
        "num_threads": 8,
    }.items():
        other = resolve({name: value})
        changed = {stage for stage in STAGES if other.digest(stage) != base.digest(stage)}
        stages = TABLE[name].stages
        assert changed == ({*stages, "codegen"} if stages else set())


def test_changed_values_resolve_to_the_same_digests(tmp_path):
    spec = tmp_path / "spec.json"
    spec.write_text(json.dumps([{"trigger": "FixOutput", "op_type": "Add", "shape": [3], "layout": "((3:1))"}]))
    options = resolve({"layout_spec": str(spec), "sram_budget": "0.25", "out_onnx": "x.onnx"}, "O3.json")
    assert resolve(json.loads(json.dumps(options.changed()))).digest() == options.digest()
    assert "out_onnx" not in options.changed()
    spec.write_text("nonsense")
    with pytest.raises(UsageError, match=r"PF0803: .*: option layout_spec: is not JSON"):
        resolve({"layout_spec": spec})
    with pytest.raises(UsageError, match=r"PF0803: .*: option layout_spec: cannot be read"):
        resolve({"layout_spec": tmp_path / "none"})


def test_docs_page_is_current(request):
    page = request.config.rootpath / "docs" / "options.md"
    assert page.read_text(encoding="utf-8") == render()
