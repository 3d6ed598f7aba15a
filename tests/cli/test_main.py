"""The group of commands: fast help, one line for each error, exit statuses, pipes."""

import os
import subprocess
import sys
import time

import click
import pytest

from pfcomp.cli.main import COMMANDS, cli
from pfcomp.cli.shell import run_command
from pfcomp.errors import ArtifactError, UsageError
from pfcomp.options import OptionWarning


def python(*arguments, **keywords):
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False, **keywords)


def ends(monkeypatch, capsys, command, *arguments):
    """Runs a command as its console script does; returns exit status, stdout, stderr."""
    monkeypatch.setattr(sys, "argv", ["pfcomp", *arguments])
    with pytest.raises(SystemExit) as stop:
        run_command(command, "pfcomp")
    return stop.value.code, *capsys.readouterr()


def test_help_is_fast_and_imports_nothing_heavy():
    code = (
        "import sys\nfrom pfcomp.cli.main import cli\n"
        "cli.main(['--help'], standalone_mode=False)\n"
        "print([m for m in ('torch', 'onnx', 'numpy', 'rich', 'onnx_ir') if m in sys.modules])"
    )
    begin = time.perf_counter()
    done = python("-c", code)
    assert time.perf_counter() - begin < 2  # about 0.15 s on an idle machine
    assert done.stdout.endswith("[]\n"), done.stdout
    assert all(f"  {name} " in done.stdout for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_help_text(name):
    command = cli.get_command(click.Context(cli), name)
    assert command.help


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nonsense"], "pfcomp: PF0801: No such command 'nonsense'.; see --help\n"),
        (["options", "--nonsense"], "pfcomp: PF0801: No such option '--nonsense'.; see --help\n"),
    ],
)
def test_wrong_command_lines(monkeypatch, capsys, arguments, message):
    assert ends(monkeypatch, capsys, cli, *arguments) == (2, "", message)


def test_no_arguments_show_the_help(monkeypatch, capsys):
    status, out, err = ends(monkeypatch, capsys, cli)
    assert (status, out) == (2, "")
    assert "Usage: pfcomp" in err


def raising(error):
    @click.command()
    @click.option("--debug", is_flag=True)
    def command(debug):
        raise error

    return command


@pytest.mark.parametrize(
    ("error", "status", "line"),
    [
        (UsageError("PF0802", "bad"), 2, "pfcomp: PF0802: bad\n"),
        (ArtifactError("PF0512", "bad", where="f", hint="do"), 5, "pfcomp: PF0512: f: bad; do\n"),
        (KeyboardInterrupt(), 130, "pfcomp: interrupted\n"),
        (
            RuntimeError("two\nlines"),
            70,
            "pfcomp: PF0890: unexpected failure: RuntimeError: two lines; report it with the output of --debug\n",
        ),
    ],
)
def test_errors_are_one_line_with_the_status_of_their_kind(monkeypatch, capsys, error, status, line):
    assert ends(monkeypatch, capsys, raising(error)) == (status, "", line)
    status_again, _, err = ends(monkeypatch, capsys, raising(error), "--debug")
    assert status_again == status
    assert err.startswith("Traceback")
    assert err.endswith(line)


def test_warnings_are_one_line(monkeypatch, capsys):
    @click.command()
    def command():
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.warn("look", OptionWarning, stacklevel=1)
        raise SystemExit(0)

    monkeypatch.setattr("warnings.showwarning", sys.modules["warnings"].showwarning)
    assert ends(monkeypatch, capsys, command) == (0, "", "pfcomp: warning: look\n")


def test_a_closed_pipe_is_no_error():
    code = (
        "import sys, click\nfrom pfcomp.cli.shell import run_command\n"
        "@click.command()\ndef c():\n    for n in range(100000): click.echo(n)\n"
        "sys.argv = ['c']\nrun_command(c, 'c')"
    )
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([sys.executable, "-c", code], stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")
