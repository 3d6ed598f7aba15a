"""`pfcomp`: the group of commands. Commands are imported when they are used, so that `--help` is fast."""

from __future__ import annotations

import importlib
from typing import NoReturn, cast

import click

from pfcomp import __version__
from pfcomp.cli.shell import run_command

# Command: (module, attribute, what it does); in the order of the help text.
COMMANDS: dict[str, tuple[str, str, str]] = {
    "compile": ("pfcomp.cli.compile", "compile_command", "Compile a script, a function or an ONNX model."),
    "trace": ("pfcomp.cli.stage_commands", "trace", "Run the stage trace: check the captured form, write its text."),
    "onnx": ("pfcomp.cli.stage_commands", "onnx", "Run the stage onnx: captured graph to compiled ONNX."),
    "schedule": (
        "pfcomp.cli.stage_commands",
        "schedule",
        "Run the stage schedule: layouts, locations, addresses.",
    ),
    "simulate": (
        "pfcomp.cli.stage_commands",
        "simulate",
        "Run the stage simulate: steps, cycles and memory.",
    ),
    "codegen": ("pfcomp.cli.stage_commands", "codegen", "Run the stage codegen: assembly and app."),
    "run": ("pfcomp.cli.pfrun", "cli", "Run an app, a codegen_dir or an assembly program (also: pfrun)."),
    "dump": ("pfcomp.cli.dump_gpfnapp", "cli", "Show what an app holds (also: dump_gpfnapp)."),
    "verify": ("pfcomp.cli.verify", "verify", "Compare every node of a compiled program with the reference executor."),
    "asm": ("pfcomp.cli.asm", "asm", "Check and translate assembly programs."),
    "ops": ("pfcomp.cli.ops", "ops", "Show the operators that are taken, how they are lowered, and their limits."),
    "check": ("pfcomp.cli.check", "check", "Say what of a program would compile, what would not, and why."),
    "options": ("pfcomp.cli.options", "options", "Show the compile options and presets."),
    "cache": ("pfcomp.cli.cache", "cache", "Show and clear the compilation cache."),
    "doctor": ("pfcomp.cli.doctor", "doctor", "Say what is installed and which engine is in use."),
}


class LazyGroup(click.Group):
    """A group whose commands are imported at their first use; the help text comes from the table."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, attribute, _ = COMMANDS[cmd_name]
        return cast(click.Command, getattr(importlib.import_module(module), attribute))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, _, text) in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="pfcomp")
@click.option("--debug", is_flag=True, help="Print the traceback of errors.")
def cli(debug: bool) -> None:
    """An ahead-of-time compiler, emulator and runtime for the MN-Core 2 chip."""
    del debug  # `run_command` looks for it itself, because parsing may be what fails


def main() -> NoReturn:
    """Entry point of the console script."""
    run_command(cli, "pfcomp")


if __name__ == "__main__":
    main()
