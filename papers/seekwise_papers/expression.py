"""The language of claims: a small part of Python's expression syntax, walked over Python's own syntax tree.

Numbers, strings, nested lists (flattened), `+ - * /`, unary `-`, chained `< <= > >=` element by element, `and`, `or`,
and calls with named options. Anything else is refused by name. Nothing is ever executed; every part is evaluated, so
that a name that does not exist is found behind an `or`, too. The meaning of names comes from outside (`functions`).
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Sequence
from operator import add, ge, gt, le, lt, mul, sub, truediv

from seekwise_papers.value import Argument, ClaimError, Value, finite, kind, pair

Call = Callable[[str, Sequence[Argument], dict[str, Argument]], Value]

# Far beyond any claim, and far below what would strain the interpreter's own recursion.
LENGTH_MAX = 20_000
DEPTH_MAX = 60

ARITHMETIC = {ast.Add: ("+", add), ast.Sub: ("-", sub), ast.Mult: ("*", mul), ast.Div: ("/", truediv)}
COMPARISONS = {ast.Lt: ("<", lt), ast.LtE: ("<=", le), ast.Gt: (">", gt), ast.GtE: (">=", ge)}


def evaluate(text: str, call: Call) -> Value:
    """The value of an expression; `call` gives meaning to the functions. Raises ClaimError, and what `call` raises."""
    if not isinstance(text, str):
        raise ClaimError("the expression is not a text")
    value = _value(_tree(text), call, 0)
    if isinstance(value, str) or (isinstance(value, tuple) and value and isinstance(value[0], str)):
        raise ClaimError(f"the expression is {kind(value)}")
    return value  # type: ignore[return-value]


def _tree(text: str) -> ast.expr:
    if len(text) > LENGTH_MAX:
        raise ClaimError(f"the expression is longer than {LENGTH_MAX} characters")
    line = re.sub(r"[\n\r\f]", " ", text).strip()
    if not line:
        raise ClaimError("the expression is empty")
    if "#" in line:
        raise ClaimError("the expression has a comment, which the language does not have")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(line, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        reason = str(error).split("\n")[0][:100] or type(error).__name__
        raise ClaimError(f"the expression cannot be read: {reason}") from None


def _value(node: ast.expr, call: Call, depth: int) -> Argument:
    if depth > DEPTH_MAX:
        raise ClaimError(f"the expression is nested deeper than {DEPTH_MAX} levels")
    depth += 1
    match node:
        case ast.Constant(value=value):
            return _constant(value)
        case ast.List(elts=elements):
            return _flat([_value(element, call, depth) for element in elements])
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _arithmetic(ast.Sub, 0.0, _value(operand, call, depth))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in ARITHMETIC:
            return _arithmetic(type(op), _value(left, call, depth), _value(right, call, depth))
        case ast.Compare(left=first, ops=ops, comparators=others):
            values = [_value(operand, call, depth) for operand in (first, *others)]
            return _compared([type(op) for op in ops], values)
        case ast.BoolOp(op=op, values=parts):
            truths = [_truth(_value(part, call, depth)) for part in parts]
            return all(truths) if isinstance(op, ast.And) else any(truths)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords):
            return _called(name, args, keywords, call, depth)
    what = f"plain name `{node.id[:40]}`" if isinstance(node, ast.Name) else type(getattr(node, "op", node)).__name__
    raise ClaimError(f"the language has no {what}")


def _constant(value: object) -> Argument:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ClaimError(f"the language has no constant of type {type(value).__name__}")
    if isinstance(value, str):
        return value
    try:
        return finite(float(value), "a constant")
    except OverflowError:
        raise ClaimError("a constant is too large for a number") from None


def _flat(elements: list[Argument]) -> Argument:
    flat: list[float | str] = []
    for element in elements:
        if isinstance(element, bool):
            raise ClaimError("a list holds a truth value")
        flat.extend(element if isinstance(element, tuple) else (element,))
    if len({type(one) for one in flat}) > 1:
        raise ClaimError("a list mixes numbers and strings")
    return tuple(flat)  # type: ignore[return-value]


def _arithmetic(op: type[ast.operator], left: Argument, right: Argument) -> Value:
    sign, function = ARITHMETIC[op]
    pairs, is_list = pair(left, right, f"`{sign}`")
    try:
        results = tuple(finite(function(a, b), f"`{sign}`") for a, b in pairs)
    except (ZeroDivisionError, OverflowError):
        raise ClaimError(f"`{sign}` gives a number that is not finite") from None
    return results if is_list else results[0]


def _compared(ops: list[type[ast.cmpop]], values: list[Argument]) -> bool:
    holds = True
    for op, left, right in zip(ops, values[:-1], values[1:], strict=True):
        if op not in COMPARISONS:
            raise ClaimError(f"the language has no comparison {op.__name__}")
        sign, function = COMPARISONS[op]
        pairs, _ = pair(left, right, f"`{sign}`")
        if not pairs:
            raise ClaimError(f"`{sign}` compares a list without values")
        holds = all(function(a, b) for a, b in pairs) and holds
    return holds


def _truth(value: Argument) -> bool:
    if not isinstance(value, bool):
        raise ClaimError(f"`and` and `or` need truth values and got {kind(value)}")
    return value


def _called(name: str, args: list[ast.expr], keywords: list[ast.keyword], call: Call, depth: int) -> Value:
    options: dict[str, Argument] = {}
    for keyword in keywords:
        if keyword.arg is None:
            raise ClaimError("the language has no `**`")
        if keyword.arg in options:
            raise ClaimError(f"the option `{keyword.arg}` of {name} is given twice")
        options[keyword.arg] = _value(keyword.value, call, depth)
    value = call(name, [_value(arg, call, depth) for arg in args], options)
    where = f"{name}(…)"
    if isinstance(value, bool):
        return value
    if isinstance(value, tuple):
        return tuple(finite(one, where) for one in value)
    return finite(value, where)
