"""`gpfn3-smi`: list, reset and clear the (emulated) boards (mlsdk.md 5)."""

from __future__ import annotations

from typing import NoReturn

import click

from pfcomp.cli.shell import run_command


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--debug", is_flag=True, help="Print the traceback of errors.")
def cli(debug: bool) -> None:
    """List, reset and clear the MN-Core 2 boards of this computer. Without hardware the boards are emulated."""
    del debug


@cli.command("list")
def list_boards() -> None:
    """Print `<index>: <name>` for every board."""
    from pfcomp.runtime.devices import board_count, board_name

    for index in range(board_count()):
        click.echo(f"{index}: {board_name(index)}")


@cli.command()
@click.argument("device")
@click.option("--force", is_flag=True, help="Take the board away from a running program.")
def reset(device: str, force: bool) -> None:
    """Free the board DEVICE (index or name). A board in use stays with its program unless --force is given."""
    from pfcomp.runtime.maintenance import reset_board

    click.echo(reset_board(device, force))


@cli.command()
@click.argument("device")
@click.option("-pattern", "--pattern", default="0", help="64-bit number that fills the memory, decimal or 0x hex.")
@click.option("-seed", "--seed", type=int, default=None, help="Fill with random numbers of this seed instead.")
def clear(device: str, pattern: str, seed: int | None) -> None:
    """Fill the DRAM of the board DEVICE (index or name). It takes effect in programs that start afterwards."""
    from pfcomp.runtime.maintenance import clear_board

    click.echo(clear_board(device, pattern, seed))


def main() -> NoReturn:
    """Entry point of the console script."""
    run_command(cli, "gpfn3-smi")


if __name__ == "__main__":
    main()
