"""Builds the emulator's C engine, once for each instruction set; without a C compiler the package works without it."""

import platform
from pathlib import Path

from setuptools import Extension, setup

FOLDER = Path("pfcomp/emulator/c")
SOURCES = sorted(str(path) for path in FOLDER.glob("*.c"))
FLAGS = ["-O3", "-std=c11", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-fvisibility=default"]
LEVELS = {"_baseline": []}
if platform.machine().lower() in ("x86_64", "amd64"):
    avx512 = ["-mavx512f", "-mavx512bw", "-mavx512vl", "-mavx512dq", "-mprefer-vector-width=512"]
    LEVELS |= {"_avx2": ["-mavx2", "-mfma"], "_avx512": ["-mavx2", "-mfma", *avx512]}

setup(
    ext_modules=[
        Extension(
            f"pfcomp.emulator.c.{name}",
            SOURCES,
            depends=sorted(str(path) for path in FOLDER.glob("*.h")),
            extra_compile_args=[*FLAGS, *flags],
            optional=True,
        )
        for name, flags in LEVELS.items()
    ]
)
