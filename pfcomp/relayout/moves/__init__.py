"""The moves of the structured relayout engine: each exchanges digits between places of the chip (docs/relayout.md)."""
