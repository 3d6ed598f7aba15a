"""CacheOptions: where compilations are kept for later ones, and which parts of them (mlsdk.md 1.6)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pfcomp.cache import Cache


@dataclass(frozen=True, slots=True)
class CacheOptions:
    """A cache folder and switches: finished apps, exported ONNX, schedule and simulation results.

    There are no gpfn2obj files here; that switch has no effect.
    """

    cache_dir: str | Path
    enable_app_cache: bool = True
    enable_onnx_cache: bool = True
    enable_codegen_cache: bool = True
    enable_gpfn2obj_cache: bool = True

    def open(self) -> Cache:
        """The cache of the compiler's stages; gpfn2obj entries do not exist here."""
        app, onnx, codegen = self.enable_app_cache, self.enable_onnx_cache, self.enable_codegen_cache
        return Cache.of(self.cache_dir, app=app, onnx=onnx, codegen=codegen)
