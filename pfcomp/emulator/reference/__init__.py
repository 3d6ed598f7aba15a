"""Scalar models in Python integers, slow and obvious: the oracles of both engines."""
