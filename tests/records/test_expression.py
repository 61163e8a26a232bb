"""Integer expressions of launch plans and shapes."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coding_framework.errors import ExpressionError
from coding_framework.records import Launch, parse_expression


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("n", 1000),
        ("2 + 3 * 4", 14),
        ("(2 + 3) * 4", 20),
        ("10 - 4 - 3", 3),
        ("n / 256", 3),
        ("n // 256", 3),
        ("n % 256", 232),
        ("-n + 1", -999),
        ("--n", 1000),
        ("min(n, 7, 300)", 7),
        ("max(n, m)", 1000),
        ("ceil_div(n, 256)", 4),
        ("ceil(n / 256)", 4),
        ("ceil((n + m) / 256)", 4),
        ("ceil(n)", 1000),
        ("ceil_div(n * m, 4 * 256) + 1", 21),
        ("128 * sizeof(float)", 512),
        ("sizeof( unsigned  int ) * m + sizeof(float4)", 96),
        ("n // sizeof(long long)", 125),
    ],
)
def test_an_expression_has_the_value_that_its_author_means(text: str, value: int) -> None:
    assert parse_expression(text).evaluate({"n": 1000, "m": 20}) == value


@pytest.mark.parametrize(
    ("size", "types"),
    [
        (1, ["char", "unsigned char", "bool", "uint8_t"]),
        (2, ["short", "unsigned short", "half", "__half", "__nv_bfloat16", "uchar2"]),
        (3, ["char3"]),
        (4, ["int", "unsigned", "unsigned int", "float", "half2", "__half2", "__nv_bfloat162", "uint32_t"]),
        (8, ["double", "long", "long long", "unsigned long long", "int64_t", "size_t", "float2", "int2"]),
        (12, ["float3"]),
        (16, ["float4", "int4", "uint4", "double2", "longlong2", "ulonglong2"]),
        (32, ["double4"]),
    ],
)
def test_the_size_of_a_type_is_the_compilers(size: int, types: list[str]) -> None:
    for name in types:
        expression = parse_expression(f"sizeof({name})")
        assert (name, expression.evaluate({})) == (name, size)
        assert not expression.names


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "ends too early"),
        ("n +", "ends too early"),
        ("n $ 2", "unexpected character '$'"),
        ("n n", "unexpected 'n'"),
        ("(n", "ends too early"),
        ("n)", "unexpected ')'"),
        ("foo(n)", "unknown function 'foo'"),
        ("ceil_div(n)", "takes 2 arguments, not 1"),
        ("ceil(n, 2)", "takes 1 argument, not 2"),
        ("* n", "unexpected '*'"),
        ("min(n", "ends too early"),
        ("min(n 2)", "expected ')'"),
        ("sizeof(n)", "the size of the type 'n' is not known"),
        ("sizeof(4 * n)", "the size of the type '4 * n' is not known"),
        ("sizeof()", "the size of the type '' is not known"),
        ("sizeof(float*)", "the size of the type 'float *' is not known"),
        ("sizeof(float", "ends too early"),
        ("sizeof(float))", "unexpected ')'"),
        ("sizeof(float, int)", "is not known"),
        ("n" * 500, "longer than 400"),
        ("(" * 60 + "n" + ")" * 60, "too deeply nested"),
        ("__import__('os')", "unexpected character"),
    ],
)
def test_what_does_not_parse_is_quoted_with_what_was_expected(text: str, complaint: str) -> None:
    with pytest.raises(ExpressionError, match=_plain(complaint)):
        parse_expression(text)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("k + 1", "'k' in 'k \\+ 1' is not a dimension of this task \\(dimensions: n\\)"),
        ("n / 0", "divides by zero"),
        ("n % (n - n)", "divides by zero"),
        ("n * 9223372036854775807", "overflows 64 bits"),
    ],
)
def test_an_expression_without_a_value_says_why(text: str, complaint: str) -> None:
    with pytest.raises(ExpressionError, match=complaint):
        parse_expression(text).evaluate({"n": 5})


@given(a=st.integers(0, 10**6), b=st.integers(1, 10**4))
def test_both_ways_to_round_a_quotient_up_agree(a: int, b: int) -> None:
    values = {"a": a, "b": b}
    expected = (a + b - 1) // b
    assert parse_expression("ceil(a / b)").evaluate(values) == expected
    assert parse_expression("ceil_div(a, b)").evaluate(values) == expected


@given(
    st.text(alphabet="abn0123456789+-*/%(), ", max_size=40)
    | st.lists(st.sampled_from(["sizeof", "sizeof(", "float", "unsigned int", ")", "n", " ", "*", "2"])).map(
        "".join
    )
)
def test_any_text_either_parses_or_is_refused_with_an_expression_error(text: str) -> None:
    try:
        expression = parse_expression(text)
    except ExpressionError:
        return
    assert expression.names <= {name for name in expression.names if name[0].isalpha()}


def test_expressions_are_values() -> None:
    one, other = parse_expression("n + 1"), parse_expression(" n + 1 ")
    assert one == other
    assert len({one, other}) == 1
    assert pickle.loads(pickle.dumps(one)) == one
    assert repr(one) == "Expression('n + 1')"


def test_a_record_stores_expressions_as_text_and_reads_them_back() -> None:
    launch = Launch(
        kernel="k",
        grid=("ceil(n/4)", 1, 1),
        block=(4, 1, 1),
        shared_bytes=0,
        arguments=("n",),
        line=1,
        text="",
    )
    assert Launch.model_validate_json(launch.model_dump_json()) == launch
    with pytest.raises(ValueError, match="unknown function"):
        Launch(
            kernel="k", grid=("f(n)", 1, 1), block=(4, 1, 1), shared_bytes=0, arguments=(), line=1, text=""
        )


def _plain(text: str) -> str:
    import re

    return re.escape(text)
