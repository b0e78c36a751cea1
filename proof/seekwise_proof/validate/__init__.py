"""What `seekwise verify KIND [FILE|FOLDER…]` can check: one module per kind in this folder.

A module named KIND is found by its file name and offers

    SUMMARY: str                                   one line for `seekwise verify --help`
    REQUIRES_FILES: bool                           False when there is something to check without files
    def verify(paths: Sequence[Path], options: Mapping[str, object]) -> Report
    OPTIONS: tuple[click.Parameter, …] = ()        optional: the kind's own options, e.g. `--explain`
    def text(report: Report) -> str                optional: how a person reads it; `frame.text` otherwise

The command prints the report (`--json`: `document.printed(report)`) and ends with status 5 when anything was missed.
"""
