"""The planner: from the compiled ONNX graph to a schedule (docs/compiler.md)."""
