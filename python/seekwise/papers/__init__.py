"""The published texts as a source of results that can be asked: what does system X do under scheduler Y.

`expression` reads a claim's text, `functions` gives its names meaning, `simulated` answers with the simulator (`simulate/setups/` says what may
be asked, and builds it), `expect` decides. Nothing here reads an expected value before the answer is there.
"""
