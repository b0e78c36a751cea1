"""What Seekwise is held against: a real kernel on virtual drives, recordings, and what every level of validation says.

testbed/       the VM: kernel and programs (`image.py`, `debian.py`), the guest's script, studies in it (`backend.py`)
validate/      one module per validation level: `seekwise verify KIND FILE…`; what each datum is worth (`_basis.py`)
calibration/   how often the judge errs            recorder.py   programs of uses, recorded for the simulator
cli/           the commands that it adds           _proof        replay, rates of machines, drive server
(`proof/crates/`)

It imports the product's public names only. Start: `validate/frame.py` for a level, `testbed/machine.py` for the VM.
"""
