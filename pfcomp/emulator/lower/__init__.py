"""The translator: statements of a program to micro-operations, once for each program."""
