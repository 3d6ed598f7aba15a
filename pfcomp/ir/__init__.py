"""MNGraph, the compiler's own graph."""
