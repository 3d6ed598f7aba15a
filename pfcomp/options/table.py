"""The table of compile options (mlsdk.md section 2.1): presets, flags, digests and the docs page come from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Stage = Literal["trace", "onnx", "schedule", "simulate", "codegen"]
Kind = Literal["choice", "real", "integer", "flag", "text", "file", "mapping"]

STAGES: tuple[Stage, ...] = ("trace", "onnx", "schedule", "simulate", "codegen")


@dataclass(frozen=True, slots=True)
class OptionInfo:
    """A row of the table.

    `stages` are those whose key the value enters: they run again when it changes. Kind "file" takes the path of a
    JSON file or its content; the content enters the key, never the path. Choices and ranges are checked; where
    `lenient` is set an unknown choice only warns and the default is used, because other names exist in the SDK.
    `environment` is the `CODEGEN_*` variable, of the process or of `envs`, that sets the option as well. A row that is
    not `used` is accepted so that programs run unchanged, and has no effect in this version.
    """

    name: str
    kind: Kind
    default: object
    meaning: str
    stages: tuple[Stage, ...] = ()
    choices: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    lenient: bool = False
    environment: str = ""
    used: bool = True


_ROWS = (
    OptionInfo(
        "float_dtype",
        "choice",
        "mixed",
        "device precision of tensors that are float32 at compile time; `mixed` computes matrix products on half"
        " operands and keeps everything else single",
        stages=("onnx", "schedule"),
        choices=("float", "double", "mixed", "half"),
    ),
    OptionInfo(
        "allow_g",
        "flag",
        False,
        "with `float_dtype` `float`: matrix products take pseudo-single operands (18 significant bits), which is twice"
        " as fast",
        stages=("schedule",),
    ),
    OptionInfo(
        "layout_planner",
        "choice",
        "lpz",
        "how layouts are chosen: one fixed form (`canonical`), by cost over the graph (`lpz`), or that and then"
        " annealed (`anneal`)",
        stages=("schedule",),
        choices=("canonical", "lpz", "anneal"),
        lenient=True,
    ),
    OptionInfo(
        "scheduler",
        "choice",
        "reuse_consecutive",
        "order, and which values stay in local memory between nodes: `always_from_dram` also computes every operator on"
        " its own, the others are alike",
        stages=("schedule",),
        choices=("always_from_dram", "reuse_consecutive", "spill_opt", "auto_recompute_sa"),
        lenient=True,
    ),
    OptionInfo(
        "sram_budget",
        "real",
        1.0,
        "share of the local memories that the compiler may fill",
        stages=("schedule",),
        low=0.0,
        high=1.0,
    ),
    OptionInfo(
        "io_layouts",
        "mapping",
        {},
        "forced device form of inputs, outputs and registered tensors by name: `<layout>` or `<dtype>/<layout>`; set by"
        " `io_spec_constraints`",
        stages=("schedule",),
    ),
    OptionInfo(
        "layout_spec",
        "file",
        None,
        "forced layouts by operator and shape, a JSON list (docs/compiler.md, *Forced layouts*)",
        stages=("schedule",),
    ),
    OptionInfo(
        "gemm_layout_spec",
        "file",
        None,
        "forced layouts of matrix products by the weight's name, a JSON list (docs/compiler.md, *Forced layouts*)",
        stages=("schedule",),
    ),
    OptionInfo(
        "allow_unused_layout_spec",
        "flag",
        False,
        "entries of `layout_spec` and `gemm_layout_spec` that apply to nothing are left out; otherwise they are an"
        " error",
        stages=("schedule",),
        environment="CODEGEN_ALLOW_UNUSED_LAYOUT_SPEC",
    ),
    OptionInfo(
        "simulation_mode",
        "choice",
        "default",
        "plans whose programs are built and counted to take the one with the fewest steps: up to 4 (`best`) or 16"
        " (`full`); others build the plan with the lowest estimate",
        stages=("schedule",),
        choices=("fake", "default", "fast", "best", "full"),
        lenient=True,
    ),
    OptionInfo(
        "sa_expected_run_iters",
        "integer",
        1,
        "runs over which annealing spreads one-time costs",
        stages=("schedule",),
        low=0,
        used=False,
    ),
    OptionInfo(
        "sa_steps",
        "integer",
        0,
        "annealing steps of `layout_planner` `anneal`, each one search of the layout planner",
        stages=("schedule",),
        low=0,
        environment="CODEGEN_SA_STEPS",
    ),
    OptionInfo(
        "backprop",
        "flag",
        False,
        "derive the backward graph of a function that returns a loss",
        stages=("trace",),
        used=False,
    ),
    OptionInfo(
        "num_threads",
        "integer",
        1,
        "compiler threads; the result does not depend on it",
        low=-1,
        used=False,
    ),
    OptionInfo("out_onnx", "text", "", "path that additionally receives the compiled ONNX"),
    OptionInfo(
        "envs",
        "mapping",
        {},
        "`CODEGEN_*` variables of this compilation, before those of the process; those without an option are ignored",
    ),
)

TABLE: dict[str, OptionInfo] = {row.name: row for row in _ROWS}
