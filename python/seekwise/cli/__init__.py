"""The command line: one module per command, found by name, imported only when used."""
