"""From ONNX operators to the jobs that kernels take: element-wise, reductions, contractions, rearrangements."""
