"""Kernels: from planned nodes to micro-operations (docs/compiler.md)."""
