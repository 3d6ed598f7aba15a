"""Cost model: exact steps of a packed program and an estimate of its cycles (docs/compiler.md)."""
