"""The guard: watches the load that is there anyway before and after `apply`, and goes back by itself if it got worse.

| module | what it holds |
|---|---|
| `watch` | one interval per second of disk counters and I/O pressure |
| `compare` | before against after, honest about autocorrelation |
| `job` | the document of such a process; keep, roll back, settle |
| `confirm` | the process that goes back unless somebody confirms |
| `worker` | the process that outlives the terminal: watch, apply, watch, decide, keep or roll back |
| `launch` | starts the worker as a transient systemd unit, or in a session of its own |
"""
