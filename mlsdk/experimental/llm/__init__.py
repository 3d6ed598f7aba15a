"""Helpers for language models: masks, key-value caches as tensors, models in stages (mlsdk.md 1.9)."""
