"""What Seekwise is held against: a real kernel on virtual drives, and what every level of validation says.

testbed/     the VM: kernel and programs (`image.py`, `debian.py`), the guest's script, studies and `tune` in it (`backend.py`, `tune.py`)
validate/    one module per validation level: `seekwise verify KIND FILE…`; what each datum is worth (`_basis.py`)

Uses: control, trace, workload, store, simulate, judge, papers, measure, importing.
Start: `validate/frame.py` for a level, `testbed/machine.py` for the VM.
"""
