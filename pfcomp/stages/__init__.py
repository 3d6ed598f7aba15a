"""The five stages: read files, call the libraries, write files."""
