"""A launch plan may give a number only to what is surely a number."""

from __future__ import annotations

import pytest

from coding_framework.cuda.analysis.signature import kernel_signatures, no_number_words
from coding_framework.cuda.judge import Judge
from coding_framework.data.tasks import get_task
from coding_framework.records import Candidate, Verdict

BEGIN = 'extern "C" __global__ void k'


def refusal(source: str, position: int = 0) -> str:
    own = [signature for signature in kernel_signatures(source) if signature.name == "k"]
    return no_number_words(own, position)


NUMBERS = {
    "an int": "k(int n)",
    "no name": "k(unsigned)",
    "qualifiers": "k(const unsigned long long n)",
    "a qualifier behind": "k(int const n)",
    "a constant of the grid": "k(const __grid_constant__ float n)",
    "a default": "k(int n = 4)",
    "a standard name": "k(size_t n)",
    "a standard name with its scope": "k(std::uint32_t n)",
    "bounds": "__launch_bounds__(256) __maxnreg__(64) k(int n)",
    "a cluster": "__cluster_dims__(2, 1, 1) k(int n)",
    "a block size": "__block_size__((256, 1, 1)) k(int n)",
}


@pytest.mark.parametrize("declaration", NUMBERS.values(), ids=NUMBERS)
def test_a_number_may_go_where_a_number_is_declared(declaration: str) -> None:
    assert refusal(f'extern "C" __global__ void {declaration} {{}}') == ""


ALIASED_NUMBERS = {
    "typedef": f"typedef unsigned int count; {BEGIN}(count n) {{}}",
    "using": f"using count = const long long; {BEGIN}(count n) {{}}",
    "a chain": f"typedef int whole; using count = whole; {BEGIN}(count n) {{}}",
    "a standard name": f"typedef std::size_t count; {BEGIN}(count n) {{}}",
    "a using of std": f"using std::size_t; using namespace std; {BEGIN}(size_t n) {{}}",
    "twice the same": f"typedef int count; {BEGIN}(count n); typedef int count; {BEGIN}(count n) {{}}",
    "several at once": f"typedef int count, *counts; {BEGIN}(count n) {{}}",
    "a macro": f"#define count int\n{BEGIN}(count n) {{}}",
    "a macro of qualifiers": f"#define R __restrict__\n{BEGIN}(int n, float* R x) {{}}",
    "a formula behind a condition": (
        "#ifndef CEIL_DIV\n#define CEIL_DIV(a, b) (((a) + (b) - 1) / (b))\n#endif\n"
        f"#ifdef __CUDA_ARCH__\n#define LDG(p) __ldg(p)\n#endif\n{BEGIN}(size_t n) {{}}"
    ),
    "a condition elsewhere": f"#ifndef TILE\n#define TILE 16\n#endif\n{BEGIN}(size_t n) {{ int t[TILE]; }}",
    "a template elsewhere": f"template <typename T> __device__ T f(size_t n, T t); {BEGIN}(size_t n) {{}}",
    "a structure of the same file": f"typedef struct {{ float x; }} pair; {BEGIN}(size_t n, pair* p) {{}}",
}


@pytest.mark.parametrize("source", ALIASED_NUMBERS.values(), ids=ALIASED_NUMBERS)
def test_simple_names_for_numbers_are_resolved(source: str) -> None:
    assert refusal(source) == ""


HIDDEN_POINTERS = {
    "typedef": f"typedef float* fp; {BEGIN}(fp x) {{}}",
    "typedef of several": f"typedef float f, *fp; {BEGIN}(fp x) {{}}",
    "typedef of an array": f"typedef float fp[4]; {BEGIN}(fp x) {{}}",
    "typedef of a function": f"typedef void fp(int); {BEGIN}(fp x) {{}}",
    "using": f"using fp = float*; {BEGIN}(fp x) {{}}",
    "a chain": f"typedef float* fp; using fq = fp; typedef fq fr; {BEGIN}(fr x) {{}}",
    "a circle": f"using a = b; using b = a; {BEGIN}(a x) {{}}",
    "a template alias": f"template <class T> using P = T*; {BEGIN}(P<float> x) {{}}",
    "an alias of a template alias": f"template <class T> using P = T*; using f = P<int>; {BEGIN}(f x) {{}}",
    "a macro": f"#define fp float*\n{BEGIN}(fp x) {{}}",
    "a macro with arguments": f"#define P(t) t*\n{BEGIN}(P(float) x) {{}}",
    "a macro for the name": f"#define n *n\n{BEGIN}(int n) {{}}",
    "a macro for a keyword": f"#define int float*\n{BEGIN}(int n) {{}}",
    "a macro that is undone": f"typedef float* fp;\n#define fp int\n#undef fp\n{BEGIN}(fp x) {{}}",
    "a macro that is not compiled": f"typedef float* fp;\n#if 0\n#define fp int\n#endif\n{BEGIN}(fp x) {{}}",
    "a macro that is not undone": f"#define t int*\n#if 0\n#undef t\n#define t int\n#endif\n{BEGIN}(t) {{}}",
    "auto": f"{BEGIN}(auto x) {{}}",
    "decltype": f"__device__ float* p; {BEGIN}(decltype(p) x) {{}}",
    "decltype of a number": f"{BEGIN}(decltype((int*)0) x) {{}}",
    "a structure": f"struct S {{ float* p; }}; {BEGIN}(S s) {{}}",
    "a structure in place": f"{BEGIN}(struct S s) {{}}",
    "a typedef of a structure": f"typedef struct {{ float* p; }} S; {BEGIN}(S s) {{}}",
    "a reference": f"{BEGIN}(int& x) {{}}",
    "an array": f"{BEGIN}(float x[4]) {{}}",
    "brackets in other signs": f"{BEGIN}(float x<::>) {{}}",
    "a name of another header": f"{BEGIN}(CUdeviceptr x) {{}}",
    "a scope": f"namespace q {{ typedef float* fp; }} {BEGIN}(q::fp x) {{}}",
    "a name of two scopes": (
        f"namespace q {{ typedef float* t; }} namespace r {{ typedef int t; }} using q::t; {BEGIN}(t x) {{}}"
    ),
    "a standard name anew": f"namespace q {{ typedef float* size_t; {BEGIN}(size_t x) {{}} }}",
    "a standard name anew, unreadable": (
        f"namespace q {{ __attribute__((aligned)) typedef float* size_t; {BEGIN}(size_t x) {{}} }}"
    ),
    "a standard name anew by a macro": (
        f"#if 1\n#define D(w) typedef float* w\n#endif\nnamespace q {{ D(size_t); {BEGIN}(size_t x) {{}} }}"
    ),
    "a standard name anew by two macros": (
        "#define T typedef\n#if 1\n#define D(w) T float* w\n#endif\n"
        f"namespace q {{ D(size_t); {BEGIN}(size_t x) {{}} }}"
    ),
    "a standard name anew by an argument": (
        f"#if 1\n#define D(a, b) a b\n#endif\n"
        f"namespace q {{ D(typedef float*, size_t); {BEGIN}(size_t x) {{}} }}"
    ),
    "a standard name itself a macro": f"#if 1\n#define size_t float*\n#endif\n{BEGIN}(size_t x) {{}}",
    "another type where it is compiled": f"#if 0\n{BEGIN}(int n) {{}}\n#else\n{BEGIN}(float* n) {{}}\n#endif",
    "a joined line": f"typedef float* intx; {BEGIN}(int\\\nx) {{}}",
    "a comment": f"{BEGIN}(float /* n, int */ * n) {{}}",
}


@pytest.mark.parametrize("source", HIDDEN_POINTERS.values(), ids=HIDDEN_POINTERS)
def test_what_may_be_a_pointer_gets_no_number(source: str) -> None:
    assert refusal(source) != ""


@pytest.mark.parametrize("source", [*HIDDEN_POINTERS.values(), f"{BEGIN}(float* x) {{}}"])
def test_a_pointer_is_seen_where_global_stands_behind_void(source: str) -> None:
    assert "__global__ void" in source
    assert refusal(source.replace("__global__ void", "void __global__")) != ""


@pytest.mark.parametrize("declaration", NUMBERS.values(), ids=NUMBERS)
def test_a_number_is_seen_where_global_stands_behind_void(declaration: str) -> None:
    assert refusal(f'extern "C" void __global__ {declaration} {{}}') == ""


UNREADABLE = {
    "no such kernel": "__global__ void other(int n) {}",
    "parameters by a doubtful macro": f"#if 1\n#define TWO int *a, int *b\n#endif\n{BEGIN}(TWO, int n) {{}}",
    "a condition in the list": f"{BEGIN}(int a,\n#if 0\nint b,\n#endif\nfloat* c) {{}}",
    "a doubtful macro for the kernel": f"#if 1\n#define k(x) k(float* x)\n#endif\n{BEGIN}(int n) {{}}",
    "a pack": f"{BEGIN}(int... n) {{}}",
}


@pytest.mark.parametrize("source", UNREADABLE.values(), ids=UNREADABLE)
def test_a_list_that_cannot_be_read_takes_no_numbers_at_all(source: str) -> None:
    for position in range(4):
        assert "cannot be read" in refusal(source, position)


def test_parameters_by_a_macro_are_counted_as_the_compiler_counts_them() -> None:
    source = f"#define TWO float *a, float *b\n{BEGIN}(TWO, int n) {{}}"
    assert "takes a pointer `b`" in refusal(source, 1)
    assert refusal(source, 2) == ""


def test_an_argument_too_many_is_counted_elsewhere() -> None:
    assert refusal(f"{BEGIN}(int n) {{}}", 1) == ""


def test_the_judge_tells_what_to_write() -> None:
    task = get_task("vector_add")
    source = f"""typedef float* fp;
// launch: k grid=(1) block=(1) args=(a, b, 140000000000000, n)
{BEGIN}(const float* a, const float* b, fp y, int n) {{ }}"""
    judge = Judge()
    evaluation = judge.judge(task, Candidate(source=source))
    judge.close()
    assert evaluation.verdict is Verdict.BAD_LAUNCH_PLAN
    assert "`y` of type `fp`, which is not known to be a number" in evaluation.message
    assert "`long long`" in evaluation.message
    assert "name a buffer: a, b, y" in evaluation.message
    assert evaluation.source_line == 2
