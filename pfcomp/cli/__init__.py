"""The console scripts: one module for each command, imported when it is used."""
