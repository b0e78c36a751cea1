"""The simulated backend: a study's trials, or a use of `tune`, on modelled storage; and the protocol that all backends
follow.

protocol.py, backends.py        who carries out a trial: one protocol, one row per backend
simulated.py                    trials on the simulator, side by side over the cores
trial_spec.py                   a trial in the simulator's own language
storage_trials.py, setups/      whole storage: arrays, controllers, files
made.py                         what the simulator answered, as records
recordings/                     programs of uses, recorded and played
use_trials.py, use_programs.py  a use on a drive model
design/                         which array to build of some drives
degraded.py                     arrays with a failed drive
close_up.py                     a stretch again, request by request

Uses: trace, workload, store.
Start: `simulated.SimulatedBackend`.
"""
