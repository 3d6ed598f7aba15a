"""Builds the emulator's C engine, once for each instruction set; without a C compiler the package works without it."""

import copy
import os
import platform
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

FOLDER = Path("pfcomp/emulator/c")
SOURCES = sorted(str(path) for path in FOLDER.glob("*.c"))
# Exact results: no contraction beyond what the sources ask for, no fast-math; rows are read as lanes of several widths.
FLAGS = ["-O3", "-std=c11", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-fno-strict-aliasing"]
FLAGS += ["-Wno-psabi"]  # vectors are only passed between inlined functions
THREADS = ["-pthread"] if os.name == "posix" else []
LEVELS: dict[str, list[str]] = {"_baseline": []}
if platform.machine().lower() in ("x86_64", "amd64"):
    avx512 = ["-mavx512f", "-mavx512bw", "-mavx512vl", "-mavx512dq", "-mprefer-vector-width=512"]
    LEVELS |= {"_avx2": ["-mavx2", "-mfma"], "_avx512": ["-mavx2", "-mfma", *avx512]}


class BuildLevels(build_ext):
    """Keeps the objects of the levels apart: they come from the same sources."""

    def build_extension(self, ext: Extension) -> None:
        level = copy.copy(self)
        level.build_temp = os.path.join(self.build_temp, ext.name)
        build_ext.build_extension(level, ext)


setup(
    cmdclass={"build_ext": BuildLevels},
    ext_modules=[
        Extension(
            f"pfcomp.emulator.c.{name}",
            SOURCES,
            depends=sorted(str(path) for path in FOLDER.glob("*.h")),
            extra_compile_args=[*FLAGS, *THREADS, *flags],
            extra_link_args=THREADS,
            optional=True,
        )
        for name, flags in LEVELS.items()
    ],
)
