"""Parts whose interface may change (mlsdk.md 1.9)."""
