"""The numpy engine: one function for each kind of micro-operation, all 4096 PEs and four cycles at a time."""
