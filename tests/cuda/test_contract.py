"""The launch plan in a candidate's comments."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coding_framework.cuda.contract import (
    ContractViolation,
    kernel_names,
    parse_launch_plan,
    resolve_launches,
    resolve_scratch,
    scratch_limit_bytes,
)
from coding_framework.cuda.executors.base import BufferArgument
from coding_framework.cuda.plan_lines import plan_lines
from coding_framework.data.tasks import get_task
from coding_framework.errors import ExpressionError
from coding_framework.records import parse_expression

TASK = get_task("vector_add")
ROWS = get_task("row_sum")
KERNEL = 'extern "C" __global__ void vector_add(const float* a, const float* b, float* y, int n) {}\n'


def source(*lines: str) -> str:
    return "\n".join(lines) + "\n" + KERNEL


def violation(text: str) -> ContractViolation:
    with pytest.raises(ContractViolation) as caught:
        parse_launch_plan(text, TASK)
    return caught.value


def test_a_single_kernel_needs_neither_name_nor_arguments() -> None:
    plan = parse_launch_plan(source("// launch: grid=(ceil_div(n, 256)) block=(256)"), TASK)
    (launch,) = resolve_launches(plan, TASK, {"n": 1000})
    assert launch.kernel == "vector_add"
    assert (launch.grid, launch.block, launch.shared_bytes) == ((4, 1, 1), (256, 1, 1), 0)
    names = [a.name for a in launch.arguments if isinstance(a, BufferArgument)]
    assert names == [spec.name for spec in (*TASK.inputs, *TASK.outputs)]
    assert launch.arguments[-1] == 1000


@pytest.mark.parametrize(
    "line",
    [
        "// launch: vector_add grid=(ceil(n/256), 1, 1) block=(256, 1, 1)",
        "//launch: vector_add, grid=ceil_div(n, 256), block=256",
        "  // Launch: vector_add  block=(256)  grid=dim3((n + 255) / 256)  shared=0",
        "/// launch: vector_add grid = (ceil_div(n, 256),) block = (256);",
    ],
)
def test_people_write_the_same_plan_in_many_ways(line: str) -> None:
    (launch,) = resolve_launches(parse_launch_plan(source(line), TASK), TASK, {"n": 1000})
    assert (launch.grid, launch.block) == ((4, 1, 1), (256, 1, 1))


def test_two_launches_with_scratch_run_in_order() -> None:
    text = """
// scratch: partial float32[ceil_div(rows * cols, 256)]
// scratch: flags int[rows]
// launch: first grid=(rows, 2) block=(32, 8) shared=4*cols args=(x, partial, cols)
// launch: second grid=(1) block=(256) args=(partial, y, ceil_div(rows * cols, 256))
extern "C" __global__ void first(const float* x, float* p, int c) {}
extern "C" __global__ __launch_bounds__(256) void second(const float* p, float* y, int c) {}
"""
    plan = parse_launch_plan(text, ROWS)
    first, second = resolve_launches(plan, ROWS, {"rows": 3, "cols": 100})
    assert first.grid == (3, 2, 1)
    assert first.block == (32, 8, 1)
    assert first.shared_bytes == 400
    assert first.arguments == (BufferArgument("x"), BufferArgument("partial"), 100)
    assert second.arguments == (BufferArgument("partial"), BufferArgument("y"), 2)
    assert resolve_scratch(plan, ROWS, {"rows": 3, "cols": 100}) == {
        "partial": ("float32", 2),
        "flags": ("int32", 3),
    }


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("// launch: vector_add grid=(n) ", "`block=\\(...\\)` is missing"),
        ("// launch: vector_add block=(n)", "`grid=\\(...\\)` is missing"),
        ("// launch: other grid=(n) block=(1)", "no __global__ function `other`; the source has: vector_add"),
        ("// launch: vector add grid=(n) block=(1)", "`vector add` is not a kernel's name"),
        ("// launch: grid=(n, 1, 1, 1) block=(1)", "4 extents; expected 1 to 3"),
        ("// launch: grid=((n) block=(1)", "parentheses"),
        ("// launch: grid=(n)) block=(1)", "parentheses"),
        ("// launch: grid=(n) grid=(n) block=(1)", "given twice"),
        ("// launch: grid=(n; 2) block=(1)", "unexpected character ';'"),
        ("// launch: grid=(m) block=(1)", "`m` is neither a buffer nor a dimension here"),
        ("// launch: grid=(n) block=(1) args=(a, b, z, n)", "`z` is neither a buffer nor a dimension"),
        ("// launch: grid=(a) block=(1)", "`a` is neither a buffer nor a dimension"),
        ("// launch: grid=(threadIdx.x) block=(1)", "unexpected character '.'"),
        ("// scratch: tmp double[n]", "does not parse; expected"),
        ("// scratch: tmp float32[n +]", "ends too early"),
    ],
)
def test_a_line_that_does_not_parse_is_quoted(line: str, complaint: str) -> None:
    error = violation(source("// a comment", line))
    assert error.line == 2
    assert line.strip("/ ").split(":")[1].strip()[:12] in str(error)
    with pytest.raises(ContractViolation, match=complaint):
        parse_launch_plan(source("// a comment", line), TASK)


def test_a_source_without_a_kernel_or_a_plan_says_what_is_expected() -> None:
    assert "no `__global__` function" in str(violation("int main() {}"))
    assert "no launch plan" in str(violation(KERNEL))
    assert "// launch:" in str(violation(KERNEL))


def test_a_kernel_in_a_comment_is_no_kernel() -> None:
    assert kernel_names("/* __global__ void a() {} */ // __global__ void b() {}\n__global__ void c() {}") == (
        "c",
    )


def test_two_kernels_need_names() -> None:
    text = source("// launch: grid=(1) block=(1)") + 'extern "C" __global__ void more() {}'
    assert "name the kernel to launch, one of: vector_add, more" in str(violation(text))


def test_a_scratch_buffer_may_not_take_a_name_that_is_in_use() -> None:
    text = source("// scratch: a float32[n]", "// launch: grid=(1) block=(1)")
    assert "`a` of the scratch buffer is taken" in str(violation(text))


def test_the_plan_is_bounded() -> None:
    many = source(*["// launch: grid=(1) block=(1)"] * 65)
    assert "at most 64" in str(violation(many))
    plan = parse_launch_plan(source("// scratch: big float32[n * n]", "// launch: grid=(1) block=(1)"), TASK)
    with pytest.raises(ContractViolation, match="exceeds 82 MiB"):
        resolve_scratch(plan, TASK, {"n": 100_000})
    plan = parse_launch_plan(source("// scratch: none float32[n - n]", "// launch: grid=(1) block=(1)"), TASK)
    with pytest.raises(ContractViolation, match="has 0 elements"):
        resolve_scratch(plan, TASK, {"n": 4})


def test_a_plan_without_a_value_for_a_shape_names_the_line() -> None:
    plan = parse_launch_plan(source("// launch: grid=(256 / (n - 1)) block=(1)"), TASK)
    with pytest.raises(ContractViolation, match=r"line 1: .* divides by zero"):
        resolve_launches(plan, TASK, {"n": 1})


@pytest.mark.parametrize(
    ("character", "name"),
    [
        ("\u202e", "U+202E"),
        ("\0", "U+0000"),
        ("\uff08", "U+FF08"),
        ("\u00a0", "U+00A0"),
        ("\ud800", "U+D800"),
    ],
)
def test_a_character_that_only_looks_like_another_is_named(character: str, name: str) -> None:
    error = violation(source("// a comment", f"// launch: grid=(n) {character}block=(1)"))
    assert name in str(error)
    assert "plain ASCII" in str(error)
    assert error.line == 2
    assert str(error).isascii()


def test_a_line_of_the_plan_has_a_longest_length() -> None:
    fine = "// launch: grid=(1)" + " " * 1900 + "block=(1)"
    assert parse_launch_plan(source(fine), TASK).launches[0].line == 1
    assert "at most 2,000" in str(violation(source("// launch: grid=(1)" + " " * 1000_000 + "block=(1)")))


def test_the_number_of_scratch_buffers_is_bounded() -> None:
    lines = [f"// scratch: s{i} float32[1]" for i in range(65)]
    assert "65 scratch buffers; at most 64" in str(violation(source(*lines)))


def test_scratch_memory_grows_with_the_task_up_to_a_gibibyte() -> None:
    plan = parse_launch_plan(source("// scratch: s float32[17 * n]", "// launch: grid=(1) block=(1)"), TASK)
    small, large = {"n": 2**20}, {"n": 2**24}
    assert scratch_limit_bytes(TASK, small) == (64 + 16 * 12) * 2**20
    assert scratch_limit_bytes(TASK, large) == 2**30
    assert resolve_scratch(plan, TASK, small) == {"s": ("float32", 17 * 2**20)}
    with pytest.raises(ContractViolation, match="exceeds 1024 MiB"):
        resolve_scratch(plan, TASK, large)


def test_a_comment_sign_in_a_string_hides_no_kernel() -> None:
    assert kernel_names('const char* s = "/*"; __global__ void a() {} const char* t = "*/";') == ("a",)
    assert kernel_names("__global__ void __launch_bounds__(max(32, 64)) a() {}") == ("a",)
    for bounds in ("__maxnreg__(64)", "__cluster_dims__(2, 1, 1) __launch_bounds__(256)"):
        assert kernel_names(f"__global__ void {bounds} a() {{}}") == ("a",)
        assert kernel_names(f"__global__ {bounds} void a() {{}}") == ("a",)


def test_the_word_global_may_stand_behind_void() -> None:
    assert kernel_names('extern "C" void __global__ a(float* x) {}\n__global__ void b() {}') == ("a", "b")
    for bounds in ("__launch_bounds__(256)", "__cluster_dims__(2, 1, 1) __launch_bounds__(256)"):
        assert kernel_names(f"void __global__ {bounds} a() {{}}") == ("a",)
        assert kernel_names(f"void {bounds} __global__ a() {{}}") == ("a",)
    swapped = KERNEL.replace("__global__ void", "void __global__")
    plan = parse_launch_plan("// launch: vector_add grid=(n) block=(1)\n" + swapped, TASK)
    assert plan.launches[0].kernel == "vector_add"
    assert kernel_names("void f(); // __global__\nvoid g(); __device__ void h(); void* __global__x();") == ()


PLAN = "// launch: vector_add grid=(n) block=(1)"


@pytest.mark.parametrize(
    "prose",
    [
        "// Launch: one thread per element, 256 threads per block",
        "// launch: a grid of n blocks",
        "// Launch: 256 threads \u2014 one per element",
        "// launch: " + "words " * 1000,
    ],
)
def test_a_sentence_beside_a_plan_is_no_part_of_it(prose: str) -> None:
    for lines in ((prose, PLAN), (PLAN, prose), (prose,) * 70 + (PLAN,)):
        plan = parse_launch_plan(source(*lines), TASK)
        assert [launch.line for launch in plan.launches] == [lines.index(PLAN) + 1]


@pytest.mark.parametrize("line", ["// launch: second", "// launch: second <<<1, 256>>>"])
def test_a_launch_that_says_nothing_of_its_size_is_not_passed_over(line: str) -> None:
    assert "grid" in str(violation(source(PLAN, line)))


def test_a_sentence_alone_is_complained_about() -> None:
    error = violation(source("// Launch: one thread per element"))
    assert "`one thread per element` is not a kernel's name" in str(error)
    assert "`grid=(...)` is missing" in str(violation(source("// launch: vector_add")))
    assert "plain ASCII" in str(violation(source("// Launch: 256 threads \u2014 one per element")))


@pytest.mark.parametrize(
    "line",
    [
        "// launch: vector_add grid=(n)",
        "// launch: vector_add shared=4",
        "// launch: several threads block = 256",
        "// launch: vector_add gr\u0456d=(n) bl\u043eck=(1)",
        "// launch: vector_add grid\uff1d(n)",
    ],
)
def test_a_line_with_a_field_is_never_taken_for_a_sentence(line: str) -> None:
    assert violation(source(PLAN, line)).line == 2


@pytest.mark.parametrize(
    "remark",
    [
        "// one thread per element",
        "//one thread per element",
        "// 256 threads, block = 256 (8 warps)",
        "// grid = number of blocks",
        "// 2-D tiles: n // 256 of them // or more",
        "// (one thread per element",
        "// 256 threads \u2014 one per element",
        "/// two words",
        "//",
    ],
)
def test_a_remark_may_follow_the_fields(remark: str) -> None:
    for fields in ("grid=((n + 3) // 4) block=(256)", "block=256, grid=(n + 3) // 4;"):
        (launch,) = resolve_launches(
            parse_launch_plan(source(f"// launch: {fields}  {remark}"), TASK), TASK, {"n": 1000}
        )
        assert (launch.grid, launch.block) == ((250, 1, 1), (256, 1, 1))
    plan = parse_launch_plan(source(f"// scratch: s float32[n // 2] {remark}", PLAN), TASK)
    assert resolve_scratch(plan, TASK, {"n": 10}) == {"s": ("float32", 5)}


@pytest.mark.parametrize(
    ("fields", "grid"),
    [
        ("block=(1) grid=n // 4", 250),
        ("block=(1) grid=(n) // 4", 250),
        ("grid=n // 4 block=1", 250),
        ("grid=n // 4, block=1", 250),
        ("block=1 grid=n // 4 // 5 // one of five", 50),
        ("block=(1) grid=(n // 4 // 5)", 50),
        ("block=(1) grid=n // (4 * 5) + 1", 51),
        ("block=(1) grid=n // ceil_div(n, 50)", 50),
    ],
)
def test_two_slashes_divide_where_arithmetic_follows(fields: str, grid: int) -> None:
    plan = parse_launch_plan(source(f"// launch: {fields}"), TASK)
    assert resolve_launches(plan, TASK, {"n": 1000})[0].grid == (grid, 1, 1)


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ("block=(1) grid=n // TILE", "`TILE` is neither"),
        ("block=(1) grid=n // TILE * 4", "`TILE` is neither"),
        ("block=(1) grid=n // tile(4)", "unknown function 'tile'"),
        ("block=(1) grid=n // blockDim.x", "unexpected character '.'"),
        ("block=(1) grid=n // \uff12", "plain ASCII"),
        ("block=(1) grid=(n // one thread)", "found 'thread'|unexpected 'thread'"),
        ("grid=(n) // one block per row block=(1)", "`block=\\(...\\)` is missing"),
    ],
)
def test_a_division_that_cannot_be_read_is_no_remark(fields: str, complaint: str) -> None:
    with pytest.raises(ContractViolation, match=complaint):
        parse_launch_plan(source(f"// launch: {fields}"), TASK)


@given(st.lists(st.sampled_from([*"nm0189+-*/%(), ", "//", " // ", "min(", "ceil_div("]), max_size=25))
def test_no_expression_is_taken_for_a_remark(pieces: list[str]) -> None:
    text = "".join(pieces).strip()
    try:
        parse_expression(text)
    except ExpressionError:
        return
    fields = f"k block=(1) shared={text}"
    assert [line.text for line in plan_lines(f"// launch: {fields}")] == [fields]
    fields = f"k shared={text}, block=(1)"
    assert [line.text for line in plan_lines(f"// launch: {fields}")] == [fields]


@pytest.mark.parametrize(
    ("shared", "num_bytes"),
    [
        ("128 * sizeof(float)", 512),
        ("(n * sizeof(float4))  // four at a time", 160),
        ("n // sizeof(unsigned int)", 2),
    ],
)
def test_shared_memory_may_be_given_by_the_size_of_a_type(shared: str, num_bytes: int) -> None:
    plan = parse_launch_plan(source(f"{PLAN} shared={shared}"), TASK)
    assert resolve_launches(plan, TASK, {"n": 10})[0].shared_bytes == num_bytes


def test_a_type_of_the_source_has_no_size_in_the_plan() -> None:
    error = violation(source(f"{PLAN} shared=4 * sizeof(Tile)"))
    assert "the size of the type 'Tile' is not known" in str(error)


@pytest.mark.parametrize(
    ("comment", "line"),
    [
        ("/* Adds.\n * launch: vector_add grid=(n) block=(1)\n */", 2),
        ("/* launch: vector_add grid=(n) block=(1) */", 1),
        ("/*\n\nlaunch: vector_add grid=(n) block=(1)\n*/", 3),
        ("/** Launch : grid = (n)\n */", 1),
    ],
)
def test_a_plan_in_a_block_comment_is_told_where_it_belongs(comment: str, line: int) -> None:
    error = violation(source(comment))
    assert error.line == line
    assert "no launch plan: its lines must be `//` comments, not part of a `/* */` comment" in str(error)


def test_only_a_plan_is_taken_for_one_in_a_block_comment() -> None:
    assert "/*" not in str(violation(source("/* launch: one thread per element */")))
    assert parse_launch_plan(source("/* launch: grid=(2) block=(2) */", PLAN), TASK).launches[0].line == 2


@pytest.mark.parametrize(
    "constant",
    [
        "#define BLOCK 256",
        "constexpr int BLOCK = 256;",
        "const int BLOCK = 256;",
        "static constexpr unsigned BLOCK = 8 * 32;",
    ],
)
def test_a_plan_may_name_an_integer_constant_of_the_source(constant: str) -> None:
    text = source(
        "// scratch: tile float32[2 * BLOCK]",
        "// launch: vector_add grid=(ceil_div(n, BLOCK)) block=(BLOCK) shared=BLOCK * sizeof(float) "
        "args=(a, tile, y, BLOCK - 1)",
        constant,
    )
    plan = parse_launch_plan(text, TASK)
    (launch,) = resolve_launches(plan, TASK, {"n": 1000})
    assert (launch.grid, launch.block, launch.shared_bytes) == ((4, 1, 1), (256, 1, 1), 1024)
    assert launch.arguments == (*map(BufferArgument, ("a", "tile", "y")), 255)
    assert resolve_scratch(plan, TASK, {"n": 1000}) == {"tile": ("float32", 512)}
    assert plan.launches[0].text.startswith("vector_add grid=(ceil_div(n, BLOCK))")


def test_a_plan_with_a_constant_equals_the_plan_with_its_number() -> None:
    named = source("// launch: grid=(ceil(n / TILE), n // TILE) block=(TILE, 2 * TILE)", "#define TILE 16")
    plain = source("// launch: grid=(ceil(n / 16), n // 16) block=(16, 2 * 16)", "#define TILE 16")
    first, second = (parse_launch_plan(text, TASK).launches[0] for text in (named, plain))
    assert (first.grid, first.block) == (second.grid, second.block)


def test_dimensions_and_buffers_come_before_constants() -> None:
    text = source(
        "// scratch: s float32[n]",
        "// launch: grid=(n) block=(1) args=(a, s, y, n)",
        "#define n 7",
        "#define s 8",
        "const int a = 9;",
    )
    (launch,) = resolve_launches(parse_launch_plan(text, TASK), TASK, {"n": 1000})
    assert launch.grid == (1000, 1, 1)
    assert launch.arguments == (*map(BufferArgument, ("a", "s", "y")), 1000)
    error = violation(source("// launch: grid=(a) block=(1)", "#define a 9"))
    assert "the constant `a` of the source is not used: a buffer has that name" in str(error)


def test_a_constant_is_no_function_and_no_type_of_the_plan() -> None:
    lines = ("#define min 4", "#define half 8", "#define TWO 2")
    text = source("// launch: grid=(min(n, TWO)) block=(1) shared=sizeof(half)", *lines)
    (launch,) = resolve_launches(parse_launch_plan(text, TASK), TASK, {"n": 1000})
    assert (launch.grid, launch.shared_bytes) == ((2, 1, 1), 2)


@pytest.mark.parametrize(
    ("definition", "reason"),
    [
        ("#define BLOCK 256\n#define BLOCK 128", "it is defined with different values"),
        ("#define BLOCK 256\n#undef BLOCK", "it is undefined again (`#undef`)"),
        ("#ifndef BLOCK\n#define BLOCK 256\n#endif", "a condition (`#if`) decides on it"),
        ("#define BLOCK(x) 256", "it is a macro with parameters"),
        ("#define BLOCK 256.0f", "its value is no plain integer from 0 to 2147483647"),
    ],
)
def test_a_constant_in_doubt_is_refused_with_the_reason(definition: str, reason: str) -> None:
    for plan in ("// launch: grid=(n) block=(BLOCK)", f"// scratch: s float32[BLOCK]\n{PLAN}"):
        error = violation(source(plan, definition, "#define WARP 32"))
        assert error.line == 1
        assert f"the constant `BLOCK` of the source is not used: {reason}" in str(error)
        assert "constants of the source: WARP" in str(error)


def test_an_unknown_name_is_told_the_constants_that_there_are() -> None:
    error = violation(source("// launch: grid=(n) block=(THREADS)", "#define WARP 32", "#define n 4"))
    assert "`THREADS` is neither a buffer nor a dimension here; buffers: a, b, y; dimensions: n" in str(error)
    assert "; constants of the source: WARP. Expected e.g." in str(error)
    many = "\n".join(f"#define {'C' * 200}{i} {i}" for i in range(500))
    assert len(str(violation(source("// launch: grid=(n) block=(THREADS)", many)))) < 2000
    assert "constants" not in str(violation(source("// launch: grid=(n) block=(THREADS)")))


def test_constants_that_make_an_expression_too_long_are_refused() -> None:
    error = violation(source(f"// launch: grid=({'+'.join('A' * 100)}) block=(1)", "#define A 2147483647"))
    assert "line 1: the expression is longer than 400 characters" in str(error)


def test_a_number_from_a_constant_is_no_pointer() -> None:
    """As a literal in its place."""
    text = source("// launch: grid=(n) block=(1) args=(a, b, ADDRESS, n)", "#define ADDRESS 4096")
    (launch,) = parse_launch_plan(text, TASK).launches
    assert launch.arguments[2].text == "4096"
