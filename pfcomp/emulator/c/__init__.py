"""The C engine: sources, compiled libraries (if a compiler was present at install time) and their loader."""
