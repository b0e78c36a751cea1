"""The operations of trials: their order in every table, and their names."""

from __future__ import annotations

from typing import Literal, get_args

Operation = Literal["seq_read", "seq_write", "rand_read", "rand_write", "mixed"]
PureOperation = Literal["seq_read", "seq_write", "rand_read", "rand_write"]
"""Of one direction and one pattern: what a study asks for."""
OPERATIONS: tuple[Operation, ...] = get_args(Operation)
PURE_OPERATIONS: tuple[PureOperation, ...] = get_args(PureOperation)
NAMES = {
    "seq_read": "Sequential read",
    "seq_write": "Sequential write",
    "rand_read": "Random read",
    "rand_write": "Random write",
    "mixed": "Mixed",
}


def pure(*, is_random: bool, is_write: bool) -> PureOperation:
    """The operation of one direction and one pattern."""
    if is_random:
        return "rand_write" if is_write else "rand_read"
    return "seq_write" if is_write else "seq_read"


def name(operation: str) -> str:
    """`Sequential read`; an operation of a user's own as it is called."""
    return NAMES.get(operation, operation)


def place(operation: str) -> int:
    """Sort key: the order of `OPERATIONS`, others behind them."""
    return OPERATIONS.index(operation) if operation in NAMES else len(OPERATIONS)
