"""ONNX to ONNX: one pass is one small module, named as its file; `runner` applies them in order."""
