"""The command line: one module per command, found by name, imported only when used. It plans and judges nothing.

main.py      the program: commands, errors as sentences, exit statuses
_options.py  options that several commands have
NAME.py      the command NAME
_output.py   the one way to the terminal
_….py        helpers of commands
schemas/     JSON schemas of what `--json` prints

Uses: every room.
Start: `main.py`, then the command's module.
"""
