"""The exporter's own names: naming of tensors, and a linter for functions that are to be captured (mlsdk.md 1.10)."""

from pfcomp.frontend.names import FX2ONNX_EXPORTER_TENSOR_NAME_ATTR, set_tensor_name

__all__ = ["FX2ONNX_EXPORTER_TENSOR_NAME_ATTR", "set_tensor_name"]
