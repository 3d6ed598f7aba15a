"""GPFNApp: the compiled program with everything needed to run it (docs/app-format.md)."""

from pfcomp.app.dump import dump_json, dump_text
from pfcomp.app.loader import load_app
from pfcomp.app.relocation import relocate
from pfcomp.app.writer import serialize, write_app

__all__ = ["dump_json", "dump_text", "load_app", "relocate", "serialize", "write_app"]
