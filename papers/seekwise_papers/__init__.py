"""The published texts as a source of results that can be asked: what does system X do under scheduler Y.

`expression.py` reads a claim's text, `functions.py` gives its names meaning, `simulated.py` answers with the simulator
(`simulate/setups/` says what may be asked, and builds it), `expect.py` decides. Nothing here reads an expected value
before the answer is there.

Uses: store, simulate.
Start: `simulated.SimulatedResults`, `expect.py`.
"""
