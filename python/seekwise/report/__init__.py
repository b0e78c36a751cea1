"""Says and shows what was judged: answer, page, charts, terminal, Markdown, JSON. It judges and chooses nothing.

of_run.py                     a stored run as every command shows it, whichever way it was measured
answered.py                   the answer in words, from verdicts alone
tune_answer.py, terminal.py   on a terminal
advised.py                    what to set (`judge/changes.py`), shown
paired.py, comparison.py      two runs
*_answer.py, array_advice.py  what the judge chose, in words (of a study over systems, for a use, of `whatif`, of
                              `design`)
page.py, live_sections.py     HTML: one page, and what only a live-switched run has on it
charts/                       pictures
rows.py, frame.py             records as rows
devices.py, device_words.py   the storage stack, a device and its settings
insights/                     one more thing in the numbers, said
explain/                      words and models

Uses: linux, control, trace, workload, store, simulate, judge.
Start: `of_run.of_runs`, then the method of `Report` that shows what you look for.
"""
