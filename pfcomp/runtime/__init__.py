"""Devices, DRAM allocation, locks of the emulated boards, and the executors of compiled functions (design.md 9).

Nothing here imports torch: `mlsdk` adds tensors on top, `pfrun` uses the same parts with NumPy arrays.
"""
