"""What `seekwise system install` puts beside the program, and takes away again without a trace.

| module | what it writes |
|---|---|
| `manual` | man pages, one per command, from the commands themselves |
| `completions` | completions for bash, zsh and fish |
| `units` | systemd: restore after a crash at boot; a weekly `status` if wanted |
| `manager` | tells a running systemd of units that come and go |
| `install` | writes them with a list of what was written, and removes exactly that |
"""
