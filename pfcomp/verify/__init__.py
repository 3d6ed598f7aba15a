"""`pfcomp verify`: every node of a compiled program against the reference executor."""
