"""pfcomp: an open compiler, emulator and runtime for MN-Core 2."""

__version__ = "0.1.0"
