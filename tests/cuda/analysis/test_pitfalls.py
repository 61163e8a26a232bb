"""Each rule of the detector: a kernel that shows the pitfall and its twin that does not."""

from __future__ import annotations

import pytest

from coding_framework.cuda.analysis.pitfalls import CUDAPitfallDetector
from coding_framework.records import KernelResources
from coding_framework.records.candidate import Launch, LaunchPlan
from coding_framework.records.expression import parse_expression
from coding_framework.records.finding import Finding

ONE_D = "// launch: k grid=(ceil_div(n, 256)) block=(256)\n"
TWO_D = "// launch: k grid=(ceil_div(n, 32), ceil_div(n, 32)) block=(32, 32)\n"
HEAD = 'extern "C" __global__ void k(const float* __restrict__ x, float* __restrict__ y, int n) {\n'
SETUP = "int t = threadIdx.x; int i = blockIdx.x * blockDim.x + t;\n"


def detect(body: str, launch: str = ONE_D, before: str = "") -> tuple[Finding, ...]:
    """Findings on a kernel whose body starts on line 3 (after `before`)."""
    return CUDAPitfallDetector().detect(f"{launch}{before}{HEAD}{body}\n}}\n")


def rules(body: str, launch: str = ONE_D, before: str = "") -> set[tuple[str, str]]:
    return {(finding.rule, finding.severity) for finding in detect(body, launch, before)}


def only(findings: tuple[Finding, ...], rule: str) -> Finding:
    (found,) = [finding for finding in findings if finding.rule == rule]
    return found


TRANSPOSE = """__shared__ float tile[32][ROW];
int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
if (r < n && c < n) tile[threadIdx.y][threadIdx.x] = x[r * n + c];
__syncthreads();
int d = blockIdx.y * 32 + threadIdx.x, s = blockIdx.x * 32 + threadIdx.y;
if (d < n && s < n) y[s * n + d] = tile[threadIdx.x][threadIdx.y];"""


def test_a_column_of_a_tile_with_rows_of_32_is_a_bank_conflict_and_the_padding_is_named() -> None:
    finding = only(detect(TRANSPOSE.replace("ROW", "32"), TWO_D), "bank-conflict")
    assert (finding.line, finding.severity) == (8, "warning")
    assert "32-way" in finding.reason
    assert "tile[threadIdx.x][threadIdx.y]" in finding.reason
    assert "[32][33]" in finding.suggestion


@pytest.mark.parametrize("row", ["33", "ROWS"])
def test_a_padded_tile_has_no_conflict_and_an_unknown_row_is_not_judged(row: str) -> None:
    assert rules(TRANSPOSE.replace("ROW", row), TWO_D) == set()


@pytest.mark.parametrize(("stride", "is_bad"), [(1, False), (2, True), (3, False), (32, True), (33, False)])
def test_even_strides_in_shared_memory_conflict_and_odd_ones_do_not(stride: int, is_bad: bool) -> None:
    body = f"{SETUP}__shared__ float s[256 * {stride}];\ns[t * {stride}] = 1.0f;\n__syncthreads();\n"
    body += "if (i < n) y[i] = s[t];"
    assert (("bank-conflict", "warning") in rules(body)) is is_bad


def test_strides_are_seen_through_macros_constants_and_variables() -> None:
    before = "#define STEP (8 * 4)\nconstexpr int WIDTH = STEP;\n"
    body = (
        f"{SETUP}__shared__ float s[256 * WIDTH];\nint place = t;\nplace *= WIDTH;\ns[place] = 1.0f;\n"
        "__syncthreads();\nif (i < n) y[i] = s[t];"
    )
    assert ("bank-conflict", "warning") in rules(body, before=before)


def test_a_missing_barrier_names_both_lines() -> None:
    body = f"__shared__ float s[256];\n{SETUP}s[t] = i < n ? x[i] : 0.0f;\n"
    body += "BARRIER\nif (i < n) y[i] = s[255 - t];"
    finding = only(detect(body.replace("BARRIER", "")), "missing-barrier")
    assert (finding.line, finding.severity) == (7, "error")
    assert "line 5" in finding.reason
    assert "__syncthreads() between line 5 and line 7" in finding.suggestion
    assert rules(body.replace("BARRIER", "__syncthreads();")) == set()


LOOP = """__shared__ float s[256]; int t = threadIdx.x; float v = 0;
for (int start = 0; start < n; start += 256) {
  s[t] = start + t < n ? x[start + t] : 0.0f;
  __syncthreads();
  for (int j = 0; j < 256; ++j) v += s[j];
  END
}
if (blockIdx.x * 256 + t < n) y[blockIdx.x * 256 + t] = v;"""


def test_overwriting_in_the_next_round_what_others_still_read_is_a_missing_barrier() -> None:
    finding = only(detect(LOOP.replace("END", "")), "missing-barrier")
    assert (finding.line, finding.severity) == (5, "error")
    assert "next round" in finding.reason
    assert rules(LOOP.replace("END", "__syncthreads();")) == set()


TREE = """__shared__ float s[256]; int t = threadIdx.x;
s[t] = t < n ? x[t] : 0.0f;
__syncthreads();
for (int half = 128; half > 0; half /= 2) {
  if (t < half) s[t] += s[t + half];
  END
}
if (t == 0) y[blockIdx.x] = s[0];"""


def test_a_tree_reduction_needs_the_barrier_inside_its_loop() -> None:
    assert ("missing-barrier", "error") in rules(TREE.replace("END", ""))
    assert rules(TREE.replace("END", "__syncthreads();")) == set()


def test_barriers_in_device_functions_are_seen() -> None:
    before = """__device__ float total(float v, float* s) {
  s[threadIdx.x] = v;
  BARRIER
  return s[(threadIdx.x + 64) % 256];
}
"""
    body = f"__shared__ float s[256];\n{SETUP}float v = total(1.0f, s);\nif (i < n) y[i] = v;"
    assert rules(body, before=before.replace("BARRIER", "__syncthreads();")) == set()
    finding = only(detect(body, before=before.replace("BARRIER", "")), "missing-barrier")
    assert finding.line == 5


def test_lanes_of_one_warp_need_syncwarp_only() -> None:
    body = f"__shared__ float s[256];\n{SETUP}s[t] = 1.0f;\n"
    body += "BARRIER\nif (i < n) y[i] = s[t / 32 * 32 + 31 - t % 32];"
    finding = only(detect(body.replace("BARRIER", "")), "missing-barrier")
    assert finding.severity == "warning"
    assert "__syncwarp()" in finding.suggestion
    assert rules(body.replace("BARRIER", "__syncwarp();")) == set()


def test_a_shared_scalar_set_by_one_thread_needs_a_barrier() -> None:
    body = f"__shared__ float m;\n{SETUP}if (t == 0) m = x[0];\nBARRIER\nif (i < n) y[i] = m;"
    assert only(detect(body.replace("BARRIER", "")), "missing-barrier").line == 7
    assert rules(body.replace("BARRIER", "__syncthreads();")) == set()


def test_double_buffers_and_one_thread_reading_its_own_are_no_race() -> None:
    body = f"""{SETUP}__shared__ float b[2][256];
int now = 0;
b[0][t] = x[t];
__syncthreads();
for (int round = 0; round < n; ++round) {{
  b[1 - now][t] = b[now][(t + 1) % 256];
  now = 1 - now;
  __syncthreads();
}}
if (i < n) y[i] = b[now][t];"""
    assert rules(body) == set()


def test_unknown_branches_that_exclude_each_other_are_no_race() -> None:
    body = f"""__shared__ float s[256];
{SETUP}bool first = x[0] > 0.0f;
if (first) {{ s[t] = 1.0f; }} else {{ if (i < n) y[i] = s[255 - t]; }}"""
    assert not any(rule == "missing-barrier" for rule, _ in rules(body))


def test_arrays_handed_to_foreign_functions_and_volatile_ones_are_left_alone() -> None:
    body = f"__shared__ float s[256];\n{SETUP}fill_and_wait(s);\ns[t] = 1.0f;\nif (i < n) y[i] = s[255 - t];"
    assert rules(body) == set()
    body = f"__shared__ volatile float s[256];\n{SETUP}s[t] = 1.0f;\nif (i < n) y[i] = s[255 - t];"
    assert rules(body) == set()


def test_a_barrier_inside_a_divergent_branch_is_an_error() -> None:
    body = f"__shared__ float s[256];\n{SETUP}if (i < n) {{\n s[t] = x[i];\n"
    body += " __syncthreads();\n y[i] = s[255 - t];\n}"
    finding = only(detect(body), "barrier-in-divergent-code")
    assert (finding.line, finding.severity) == (7, "error")


def test_a_barrier_in_a_loop_whose_length_depends_on_the_thread_is_an_error() -> None:
    body = f"{SETUP}for (int c = t; c < n; c += 256) {{\n y[c] = x[c];\n __syncthreads();\n}}"
    assert ("barrier-in-divergent-code", "error") in rules(body)


def test_a_barrier_after_an_early_return_is_a_warning() -> None:
    body = f"__shared__ float s[256];\n{SETUP}if (i >= n) return;\ns[t] = x[i];\n"
    body += "__syncthreads();\ny[i] = s[255 - t];"
    assert rules(body) == {("barrier-in-divergent-code", "warning")}


@pytest.mark.parametrize(
    "condition", ["blockIdx.x < n", "threadIdx.x < 256", "n > 3", "threadIdx.x / 256 == 0", "x[0] > 0.0f"]
)
def test_a_barrier_under_a_condition_that_all_threads_share_is_fine(condition: str) -> None:
    body = (
        f"__shared__ float s[256];\n{SETUP}if ({condition}) {{\n s[t] = 1.0f;\n __syncthreads();\n"
        " if (i < n) y[i] = s[255 - t];\n}"
    )
    assert rules(body) == set()


@pytest.mark.parametrize("index", ["i * n", "i * 7 + 3", "(size_t)i * n + 1", "t * n + blockIdx.x"])
def test_a_stride_between_neighbouring_threads_is_uncoalesced(index: str) -> None:
    finding = only(detect(f"{SETUP}if (i < n) y[i] = x[{index}];"), "uncoalesced-access")
    assert finding.severity == "warning"
    assert f"x[{index}]" in finding.reason
    assert ("`n` elements" if "n" in index else "7 elements") in finding.reason


@pytest.mark.parametrize(
    "index", ["i", "0", "i + 5", "n - 1 - i", "2 * i", "blockIdx.x * n + t", "i % n", "i ^ 1"]
)
def test_contiguous_broadcast_and_reversed_accesses_are_coalesced(index: str) -> None:
    assert rules(f"{SETUP}if (i < n) y[i] = x[{index}];") == set()


def test_vector_accesses_are_coalesced_and_a_scattered_index_is_not_judged() -> None:
    body = f"{SETUP}if (4 * i + 3 < n) *reinterpret_cast<float4*>(y + 4 * i) = ((const float4*)x)[i];"
    assert rules(body) == set()
    assert rules(f"{SETUP}if (i < n) y[(int)x[i]] = 1.0f;") == set()


def test_the_stride_is_seen_through_macros_with_arguments() -> None:
    before = "#define AT(r, c, width) ((r) * (width) + (c))\n"
    body = f"{SETUP}if (i < n) for (int c = 0; c < n; ++c) y[AT(c, i, n)] = x[AT(i, c, n)];"
    assert rules(body, before=before) == {("uncoalesced-access", "warning")}


def test_branches_on_the_thread_number_modulo_a_small_number_diverge() -> None:
    body = TREE.replace("half = 128; half > 0; half /= 2", "half = 1; half < 256; half *= 2")
    body = body.replace("t < half", "t % (2 * half) == 0").replace("END", "__syncthreads();")
    finding = only(detect(body), "divergence")
    assert (finding.severity, finding.line) == ("warning", 7)
    assert rules(f"{SETUP}if (t % 2 == 0 && i < n) y[i] = 1.0f;") == set(), "it depends on the size too"
    assert rules(f"{SETUP}if (t % 2 == 0) {{ if (i < n) y[i] = 1.0f; }}") == {("divergence", "info")}


@pytest.mark.parametrize("condition", ["t % 32 == 0", "t < 16", "t / 32 == 1", "(t & 63) < 32"])
def test_branches_that_keep_lanes_together_do_not_diverge(condition: str) -> None:
    assert rules(f"{SETUP}if ({condition}) {{ if (i < n) y[i] = 1.0f; }}") == set()


def test_a_store_without_a_guard_is_an_error_if_the_grid_is_rounded_up() -> None:
    assert rules(f"{SETUP}y[i] = x[i];") == {("missing-bounds-check", "error")}
    assert rules(f"{SETUP}y[i] = x[i];", "") == {("missing-bounds-check", "error")}, "without a plan too"
    assert rules(f"{SETUP}y[i] = x[i];", "// launch: k grid=(n) block=(256)\n") == set()


@pytest.mark.parametrize(
    "body",
    [
        "if (i >= n) return;\ny[i] = x[i];",
        "for (int j = i; j < n; j += gridDim.x * blockDim.x) y[j] = x[j];",
        "while (i < n) { y[i] = x[i]; i += 1024; }",
        "int j = min(i, n - 1);\nif (i < n) y[j] = x[j];",
        "if (i < LENGTH) y[i] = x[i];",
        "if (!(i < n)) { return; } else { y[i] = 1.0f; }",
    ],
)
def test_guards_of_every_form_are_seen(body: str) -> None:
    assert rules(SETUP + body) == set()


def test_atomics_of_every_thread_on_one_address_contend() -> None:
    assert ("atomic-contention", "warning") in rules(f"{SETUP}if (i < n) atomicAdd(y, x[i]);")
    assert ("atomic-contention", "warning") in rules(f"{SETUP}if (i < n) atomicAdd(&y[0], x[i]);")
    assert rules(f"{SETUP}if (i < n && t % 32 == 0) atomicAdd(y, x[i]);") == set()
    assert rules(f"{SETUP}if (i < n) atomicAdd(y + t, x[i]);") == set()


def test_shared_memory_must_be_written_before_it_is_read() -> None:
    body = f"__shared__ float s[256];\n{SETUP}if (i < n) y[i] = s[t];"
    assert rules(body) == {("shared-read-before-write", "error")}


def test_a_full_mask_in_divergent_code_is_an_error_and_warp_wide_branches_are_fine() -> None:
    body = f"{SETUP}float v = 0;\nif (CONDITION) {{ v = __shfl_down_sync(0xffffffff, v, 16); }}\n"
    body += "if (i < n) y[i] = v;"
    assert rules(body.replace("CONDITION", "i < n")) == {("shift-mask", "error")}
    assert rules(body.replace("CONDITION", "t < 8")) == {("shift-mask", "error")}
    assert rules(body.replace("CONDITION", "t < 32")) == set()
    assert rules(body.replace("CONDITION", "blockIdx.x * 8 + t / 32 < n")) == set()
    assert rules(body.replace("CONDITION", "t < 8").replace("0xffffffff", "0xff")) == set()


@pytest.mark.parametrize(
    ("expression", "severity"),
    [
        ("2.0 * x[i]", "info"),
        ("0.1 * x[i]", "warning"),
        ("0.5 * x[i] * x[i]", "warning"),
        ("max(x[i], 0.0)", "warning"),
        ("sqrtf(x[i] + 1e-5)", "warning"),
        ("2.0f * x[i]", None),
        ("1.0 / 8.0", None),
        ("0.0", None),
        ("x[i] > 0.5 ? x[i] : 0.0", None),
    ],
)
def test_double_literals_in_float_arithmetic(expression: str, severity: str | None) -> None:
    found = rules(f"{SETUP}if (i < n) y[i] = {expression};")
    assert found == ({("double-precision-literal", severity)} if severity else set())


def test_small_advice_is_info() -> None:
    body = f"{SETUP}float own[8];\nfor (int q = 0; q < 8; ++q) own[q] = x[q];\nif (i < n) y[i] = own[i % 8];"
    assert rules(body) == {("local-array-dynamic-index", "info")}
    body = f"{SETUP}for (int q = i; q < n * n; q += 256) y[q] = x[q % n];"
    assert rules(body) == {("integer-division", "info")}
    plain = ONE_D + HEAD.replace("__restrict__ ", "") + f"{SETUP}if (i < n) y[i] = x[i];\n}}"
    (finding,) = CUDAPitfallDetector().detect(plain)
    assert (finding.rule, finding.severity) == ("no-const-restrict", "info")
    assert "`x`" in finding.reason


def plan(block: str, grid: str = "ceil_div(n, 256)", shared: str = "0") -> LaunchPlan:
    one = parse_expression("1")
    launch = Launch(
        kernel="k",
        grid=(parse_expression(grid), one, one),
        block=(parse_expression(block), one, one),
        shared_bytes=parse_expression(shared),
        arguments=tuple(parse_expression(name) for name in ("x", "y", "n")),
        line=1,
        text="k",
    )
    return LaunchPlan(launches=(launch,))


@pytest.mark.parametrize(
    ("given", "resources", "words"),
    [
        (plan("100"), (), "no multiple of 32"),
        (plan("32"), (), "only 32 threads"),
        (plan("256", "4"), (), "4 blocks"),
        (plan("256"), (KernelResources(kernel="k", registers=200),), "registers"),
        (plan("256", shared="64 * 1024"), (KernelResources(kernel="k", registers=32),), "shared memory"),
        (plan("256"), (KernelResources(kernel="k", registers=32, spill_store_bytes=8),), "spills"),
    ],
)
def test_launches_that_leave_the_device_idle(
    given: LaunchPlan, resources: tuple[KernelResources, ...], words: str
) -> None:
    source = f"// plan\n{HEAD}{SETUP}if (i < n) y[i] = x[i];\n}}"
    finding = only(CUDAPitfallDetector().detect(source, plan=given, resources=resources), "low-occupancy")
    assert words in finding.reason
    assert finding.line == 1


def test_a_good_launch_gets_no_word() -> None:
    source = f"// plan\n{HEAD}{SETUP}if (i < n) y[i] = x[i];\n}}"
    needs = (KernelResources(kernel="k", registers=32),)
    assert CUDAPitfallDetector().detect(source, plan=plan("256"), resources=needs) == ()


def test_without_any_launch_only_what_holds_for_every_usual_block_is_said() -> None:
    body = TREE.replace("END", "__syncthreads();")
    assert rules(body, "") == set(), "128 and 512 threads would race, but 256 is as likely"
    assert ("missing-barrier", "warning") in rules(TREE.replace("END", ""), "")


def test_findings_are_pitfalls_ordered_by_line_and_act_in_one_sentence() -> None:
    findings = detect(TREE.replace("END", "").replace("x[t]", "0.1 * x[t * n]"))
    assert [f.line for f in findings] == sorted(f.line or 0 for f in findings)
    assert {f.category for f in findings} == {"pitfall"}
    assert all(f.suggestion.endswith(".") and f.reason for f in findings)
    assert len(findings) >= 3
