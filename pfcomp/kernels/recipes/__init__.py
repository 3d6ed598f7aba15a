"""What element-wise operators do on the chip: recipes by family, collected in `pfcomp.kernels.table`."""
