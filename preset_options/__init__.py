"""The option presets O0 to O4 and debug, as JSON files (docs/options.md)."""
