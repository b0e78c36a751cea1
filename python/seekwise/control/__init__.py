"""Touching a live machine so that it can always be restored.

The steps are the same everywhere: read, save to the journal, write, read back, restore, read back, close the entry.

| module | what it holds |
|---|---|
| `settings` | `changed(…)`: values set for a while, with everything that depends on them restored |
| `attributes` | one row per sysfs attribute: where, unit, order, what a refusal means |
| `journal` | old values on disk before the first change; survives SIGKILL and power loss |
| `recovery` | what a killed run left behind is restored: at the next start, or by `seekwise revert` |
| `exact`, `persisted` | a file's whole state and the way back to it; files that outlive a restart, written and taken back |
| `lock` | one run per device |
| `interrupt` | Ctrl-C, SIGTERM and a closed terminal wait while values are being restored |
| `scratch` | the folder for test files: sized before, removed after |
| `emptiness`, `signatures` | proof that a raw device holds nothing, and its confirmation by name |
| `child`, `supervise` | a load that cannot outlive its starter |

Uses: linux.
Start: `settings.changed`; what a killed run left: `recovery`.
"""
