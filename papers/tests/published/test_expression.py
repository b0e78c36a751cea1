"""The language of claims, against hand computations and the examples of its description."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seekwise.simulate.setups.setup import NotModelled
from seekwise_papers.claims import check
from seekwise_papers.expect import passes
from seekwise_papers.expression import evaluate
from seekwise_papers.functions import Functions
from seekwise_papers.queries import Defaults, Query
from seekwise_papers.value import ClaimError

FIGURES = {
    ("A", "seq_read", "deadline"): {1: 0.1, 2: 0.14, 4: 0.22, 8: 0.38},
    ("D", "seq_read", "cfq"): {1: 100.0, 2: 80.0, 4: 80.0, 8: 80.0},
    ("S5", "seq_read", "cfq"): {1: 90.0, 2: 75.0, 4: 80.0, 8: 70.0},
}


class Given:
    """A source of results of given figures, whatever the metric; everything else counts its own questions."""

    def __init__(self) -> None:
        self.asked: list[Query] = []

    def defaults(self, system: str) -> Defaults:
        if len(system) > 8:
            raise NotModelled(f"there is no system `{system[:40]}`")
        return Defaults(("noop", "deadline"), (1, 2, 4, 8))

    def measure(self, queries):
        self.asked += queries
        return [
            FIGURES.get((q.system, q.operation, q.scheduler), {}).get(q.threads, float(len(self.asked)))
            for q in queries
        ]

    def scatter(self, query: Query) -> float:
        return 0.0

    def model(self, name, quantity, options):
        return 4.0


def value(text: str):
    return evaluate(text, Functions(Given()))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 + 2 * 3", 7),
        ("-(1 - 3) / 4", 0.5),
        ("[1, [2, [3]],]", (1, 2, 3)),
        ("2 * [1, 2]", (2, 4)),
        ("[1, 2] / [2, 8]", (0.5, 0.25)),
        ("1 < [2, 3] <= 3", True),
        ("1 < [2, 3] < 3", False),
        ("1 < 2 and 2 < 1 or 1 < 2", True),
        ("mean([1, 2, 6])", 3),
        ("mean(1, [2, 3])", (1.5, 2)),
        ("max([1, 5], [4, 2])", (4, 5)),
        ("min(3, 2)", 2),
        ("spread([80, 100])", 0.2),
        ("spread([80, 100], [100, 50])", (0.2, 0.5)),
        ("abs([-1, 2])", (1, 2)),
        ("slope([1, 3, 5], [0, 1, 2])", 2),
        ("slope([0, 1, 0, 3], [0, 1])", (1, 3)),
        ("r2([1, 2, 3], [2, 4, 6])", 1),
        ("r2([0, 1, 1, 0], [0, 1, 2, 3])", 0),
        ("rising([100, 98, 104], [1, 2, 4])", True),
        ("rising([100, 96, 104], [1, 2, 4])", False),
        ("rising([100, 102, 103], [1, 2, 4])", False),
        ("falling([100, 102, 96], [1, 2, 4])", True),
        ("falling([100, 90, 100, 99], [1, 2])", False),
        ("1\n<\n2", True),
        ('slope(access("A", "seq_read", "deadline"), [1, 2, 4, 8])', 0.04),
        ('spread(rate("D", "seq_read", "cfq"), rate("S5", "seq_read", "cfq")) <= 0.15', True),
    ],
)
def test_an_expression_is_worth_what_a_hand_computes(text, expected):
    found = value(text)
    if isinstance(expected, bool):
        assert found is expected
    else:
        assert found == pytest.approx(expected)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "'text'",
        "True",
        "None",
        "1j",
        "2 ** 3",
        "7 // 2",
        "7 % 2",
        "+1",
        "not 1 < 2",
        "1 == 1",
        "1 != 2",
        "1 in [1]",
        "[1][0]",
        "(1, 2)",
        "{1}",
        "1 if 1 < 2 else 3",
        "[x for x in [1]]",
        "lambda: 1",
        "mean.real",
        "__import__('os')",
        "open('/etc/passwd')",
        "f'{1}'",
        "1 # 2",
        "1; 2",
        "mean(*[1])",
        "mean(**1)",
        "mean([1], key=2)",
        "mean()",
        "mean([])",
        "1 / 0",
        "1e308 * 10",
        "1e999",
        "[1, 2] + [1, 2, 3]",
        "[1, 'a']",
        "[1 < 2]",
        "(1 < 2) + 1",
        "1 and 2",
        "1 < 2 or nothing(1)",
        "slope([1, 2, 3], [1, 2])",
        "slope([1, 2], [1, 1])",
        "r2([1, 1], [1, 2])",
        "spread([0, 0])",
        'rate("A", "seq_read")',
        'rate("A", "seq_read", "deadline", 1, 2)',
        'rate("A", "read", "deadline", 1)',
        'rate("A", "seq_read", "elevator", 1)',
        'rate("A", "seq_read", "deadline", 1.5)',
        'rate("A", "seq_read", "deadline", 0)',
        'rate("A", "seq_read", "deadline", 1, colour="red")',
        'rate("A", "seq_read", "deadline", 1, ncq="maybe")',
        'rate("A", "seq_read", "deadline", 1, bs=-1)',
        'rate("A", "seq_read", "deadline", 1, bs=8, bs=8)',
        'rate(1, "seq_read", "deadline", 1)',
        'model("A", "colour")',
        "-" * 5000 + "1",
        "(" * 1000 + "1" + ")" * 1000,
        "1" * 10_000,
        "\x00",
    ],
)
def test_what_the_language_does_not_have_is_refused_with_a_sentence(text):
    with pytest.raises(ClaimError) as caught:
        value(text)
    assert str(caught.value)
    assert "\n" not in str(caught.value)


def test_combinations_come_in_the_order_of_the_arguments_and_the_last_varies_fastest():
    source = Given()
    text = 'rate(["A", "B"], "all", "all", [1, 8], bs=[8, 16], ncq="off")'
    result = evaluate(text, Functions(source))
    assert len(result) == 2 * 4 * 2 * 2 * 2
    first, second, third = source.asked[:3]
    assert (first.system, first.operation, first.scheduler, first.threads) == ("A", "seq_read", "noop", 1)
    assert first.options == (("bs", 8.0), ("ncq", "off"))
    assert second.options == (("bs", 16.0), ("ncq", "off"))
    assert (third.threads, third.options[0]) == (8, ("bs", 8.0))
    assert source.asked[-1].system == "B"


def test_single_values_give_a_number_and_a_left_out_count_gives_a_list():
    assert isinstance(value('rate("A", "seq_read", "noop", 1)'), float)
    assert len(value('rate("A", "seq_read", "noop")')) == 4
    assert len(value('rate("A", "seq_read", ["noop"], 1)')) == 1
    assert value('model("A", "file_mb")') == 4
    assert value('model(["A", "B"], "file_mb")') == (4, 4)


@pytest.mark.parametrize(
    ("result", "expect", "outcome"),
    [
        (54.0, {"value": 55, "tolerance_rel": 0.1}, True),
        (49.4, {"value": 55, "tolerance_rel": 0.1}, False),
        (0.3, {"value": 0.2, "tolerance_abs": 0.1}, True),
        ((54.0, 40.0), {"value": 55, "tolerance_rel": 0.1}, False),
        ((54.0, 48.0), {"value": [55, 48], "tolerance_rel": 0.1}, True),
        (5.0, {"low": 4}, True),
        (5.0, {"high": 4}, False),
        ((1.0, 2.0), {"low": 1, "high": 2}, True),
        (True, {"truth": True}, True),
        (False, {"truth": True}, False),
    ],
)
def test_expect_decides(result, expect, outcome):
    assert passes(result, expect) is outcome


@pytest.mark.parametrize(
    ("result", "expect"),
    [
        (1.0, {"truth": True}),
        (True, {"value": 1, "tolerance_abs": 0}),
        ((1.0, 2.0), {"value": [1], "tolerance_abs": 0}),
        (1.0, {}),
        (1.0, None),
        (1.0, {"value": 1}),
        (1.0, {"value": "1", "tolerance_abs": 0}),
        (1.0, {"value": 1, "tolerance_abs": 0, "low": 0}),
        (True, {"truth": False}),
        ((), {"low": 0}),
    ],
)
def test_a_result_of_another_kind_or_an_unknown_form_is_missed(result, expect):
    with pytest.raises(ClaimError):
        passes(result, expect)


WORDS = st.sampled_from(
    [
        "rate(",
        "mean(",
        "slope(",
        "model(",
        "[",
        "]",
        "(",
        ")",
        ",",
        "'A'",
        '"all"',
        "'seq_read'",
        "'cfq'",
        "1",
        "0",
        "8",
    ]
    + [
        "1e308",
        "+",
        "-",
        "*",
        "/",
        "**",
        "<",
        "<=",
        ">",
        "==",
        " and ",
        " or ",
        " not ",
        "bs=",
        "x",
        ".",
        ":",
        "\n",
        "#",
    ]
    + ["lambda ", "f'", "\\", "'", '"', "\x00", "é", "if ", "else ", "for ", "in ", "@", "{", "}", ";", ":="]
)


@settings(max_examples=600, deadline=None)
@given(st.one_of(st.lists(WORDS, max_size=40).map("".join), st.text(max_size=80)))
def test_no_text_crashes_the_tool(text):
    result, reason = check(text, {"truth": True}, Given())
    assert reason is None or (reason and "\n" not in reason)
    assert reason is not None or result is True


@settings(max_examples=100, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(
                st.sampled_from(["value", "tolerance_rel", "tolerance_abs", "low", "high", "truth"]), inner
            )
        ),
        max_leaves=6,
    )
)
def test_no_expectation_crashes_the_tool(expect):
    _, reason = check("[1, 2]", expect, Given())
    assert reason is None or reason
