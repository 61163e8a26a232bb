"""What the tracer follows: jumps, switches, aliases, casts, helpers; and where it rightly gives up."""

from __future__ import annotations

import pytest
from test_pitfalls import ONE_D, SETUP, detect, only, rules

SHARED = f"__shared__ float s[256];\n{SETUP}"
END = "\nif (i < n) y[i] = s[t];"
BARRIER = ("barrier-in-divergent-code", "error")
RACE = ("missing-barrier", "error")
SPREAD = ("uncoalesced-access", "warning")


@pytest.mark.parametrize("jump", ["if (t >= 128) break;", "if (t < 5) continue;", "if (t > 9) { break; }"])
def test_threads_that_jump_away_miss_the_barrier(jump: str) -> None:
    body = f"{SHARED}s[t] = 1.0f;\nfor (int q = 0; q < n; ++q) {{ {jump} __syncthreads(); }}{END}"
    assert BARRIER in rules(body)
    assert BARRIER not in rules(body.replace("(t", "(n + 0 * t"))


def test_a_loop_left_by_all_threads_ends() -> None:
    body = f"{SHARED}s[t] = 1.0f;\nwhile (true) {{ __syncthreads(); if (n > 3) break; }}{END}"
    assert rules(body) == set()


def test_do_while_loops_race_as_others_do() -> None:
    body = f"{SHARED}int q = 0;\ndo {{ s[t] = q; BARRIER float v = s[255 - t]; MORE ++q; }} while (q < n);"
    assert RACE in rules(body.replace("BARRIER", "").replace("MORE", ""))
    assert RACE in rules(body.replace("BARRIER", "__syncthreads();").replace("MORE", ""))
    assert rules(body.replace("BARRIER", "__syncthreads();").replace("MORE", "__syncthreads();")) == set()


def test_arms_of_a_switch_do_not_race_with_each_other_but_within_one() -> None:
    body = f"{SHARED}switch (n % 3) {{ case 0: s[t] = 1.0f; break;\n"
    body += "case 1: if (i < n) y[i] = s[255 - t]; break; }"
    assert not {rule for rule, _ in rules(body)} & {"missing-barrier"}
    body = f"{SHARED}switch (n % 3) {{ case 0: s[t] = 1.0f; if (i < n) y[i] = s[255 - t]; break; }}"
    assert RACE in rules(body)


@pytest.mark.parametrize(
    "body",
    [
        "const float* row = x + i * n;\nif (i < n) y[i] = row[3];",
        "const float* row = &x[i * n];\nif (i < n) y[i] = *row;",
        "const float* row = x;\nrow += i * n;\nif (i < n) y[i] = row[1];",
        "if (i < n) y[i] = __ldg(&x[i * n]);",
        "if (i < n) y[i] = __ldg(x + i * n);",
        "auto place{i * n};\nif (i < n) y[i] = x[place];",
        "unsigned int place = i;\nplace = place * n + 1;\nif (i < n) y[i] = x[place];",
        "int place = i;\nif (n > 5) place = i * n;\nif (i < n) y[i] = x[place];",
        "int place = min(i, n - 1) * n;\nif (i < n) y[i] = x[place];",
        "int place = i << 4;\nif (i < n) y[i] = x[place];",
    ],
)
def test_strides_are_followed_through_aliases_and_arithmetic(body: str) -> None:
    assert SPREAD in rules(SETUP + body)


def test_rows_chosen_thread_by_thread_are_merged() -> None:
    body = f"{SETUP}int place = t;\nif (t >= 16) place = t * n;\nif (i < n) y[i] = x[place];"
    assert SPREAD in rules(body)


def test_members_of_vectors_in_shared_memory_are_not_judged_for_banks() -> None:
    body = f"{SETUP}__shared__ float4 v[256];\nv[t].x = 1.0f;\n__syncthreads();\nif (i < n) y[i] = v[t].x;"
    assert rules(body) == set()


def test_wide_stores_race_with_narrow_loads_of_other_threads() -> None:
    body = f"{SHARED}if (t < 64) ((float4*)s)[t] = ((const float4*)x)[t];\n"
    body += "BARRIER\nif (i < n) y[i] = s[255 - t];"
    assert RACE in rules(body.replace("BARRIER", ""))
    assert rules(body.replace("BARRIER", "__syncthreads();")) == set()


def test_dynamic_shared_memory_is_followed_as_far_as_it_is_used() -> None:
    launch = ONE_D.replace("\n", " shared=8*n\n")
    body = f"{SETUP}extern __shared__ float s[];\nfloat* far = s + 5000;\ns[t] = 1.0f;\nfar[t] = 2.0f;\n"
    body += "BARRIER\nif (i < n) y[i] = s[t] + far[255 - t];"
    assert rules(body.replace("BARRIER", ""), launch) == {RACE}
    assert rules(body.replace("BARRIER", "__syncthreads();"), launch) == set()


def test_swapped_pointers_and_inline_assembly_silence_the_race_rule() -> None:
    two = f"{SETUP}__shared__ float u[256];\n__shared__ float v[256];\nfloat* a = u;\nfloat* b = v;\n"
    assert not any(
        rule == "missing-barrier" for rule, _ in rules(f"{two}a[t] = 1.0f;\nswap(a, b);\ny[t] = b[255 - t];")
    )
    body = f'{SHARED}s[t] = 1.0f;\nasm volatile("bar.sync 0;");\nif (i < n) y[i] = s[255 - t];'
    assert rules(body) == set()


def test_helpers_that_return_early_give_their_threads_back() -> None:
    before = "__device__ float pick(float* s) { if (threadIdx.x < 9) return 0.0f; return s[threadIdx.x]; }\n"
    body = f"{SHARED}s[t] = 1.0f;\nfloat v = pick(s);\n__syncthreads();\nif (i < n) y[i] = v + s[255 - t];"
    assert rules(body, before=before) == set()


def test_variables_changed_through_references_are_not_trusted() -> None:
    before = "__device__ void move(int& place) { place = 0; }\n"
    body = f"{SETUP}int place = i * n;\nmove(place);\nif (i < n) y[i] = x[place];"
    assert rules(body, before=before) == set()


def test_goto_ends_the_tracing_and_what_came_before_is_kept() -> None:
    body = f"{SHARED}s[t] = 1.0f;\ns[t] = s[255 - t];\ngoto done;\ndone:\nreturn;"
    assert only(detect(body), "missing-barrier").line == 6


def test_a_kernel_too_long_to_follow_keeps_what_was_seen() -> None:
    body = f"{SHARED}s[t] = 1.0f;\ns[t] = s[255 - t];\n" + "t = t + 1;\n" * 6000
    assert only(detect(body), "missing-barrier").line == 6


def test_code_that_does_not_parse_gets_no_claim() -> None:
    assert rules(f"{SHARED}s[t] = 1.0f;\nif (i < n) y[i] = s[255 - t;") == set()


def test_aligned_declarations_are_understood() -> None:
    body = f"__shared__ __align__(16) float s[256];\n{SETUP}s[t] = 1.0f;\nif (i < n) y[i] = s[255 - t];"
    assert rules(body) == {RACE}
