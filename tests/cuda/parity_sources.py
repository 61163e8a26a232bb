"""Small sources and what nvcc says to each: the corpus behind "NVRTC rejects nothing that nvcc accepts".

Statements are put into a kernel whose parameters have one name for each type. The accepted groups
are compiled by nvcc as a whole (one success vouches for all), the rejected ones one by one.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

PARAMETERS = (
    "const float* a, float* o, int n, float x, float y, double d, int i, unsigned u, long l, "
    "long long ll, unsigned long long ull, short s, unsigned char uc, bool b, size_t z"
)


@dataclass(frozen=True)
class Group:
    """Statements that need the same headers."""

    name: str
    includes: tuple[str, ...]
    statements: tuple[str, ...]

    @property
    def head(self) -> str:
        return "".join(f"#include <{name}>\n" for name in self.includes)

    def source(self, statement: str) -> str:
        return self.head + kernel("k", statement)

    @property
    def whole(self) -> str:
        kernels = (kernel(f"k{number}", text) for number, text in enumerate(self.statements))
        return self.head + "".join(kernels)


def kernel(name: str, statement: str) -> str:
    return f'extern "C" __global__ void {name}({PARAMETERS}) {{ {statement}; }}\n'


def lines(text: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in text.strip().splitlines())


WITHOUT_HEADERS = Group(
    "without_headers",
    (),
    lines("""
    o[0] = max(0, i)
    o[0] = max(i, u) + min(blockDim.x, n - i)
    o[0] = max(x, d) + min(0.0, x) + max(s, i) + max(uc, uc) + max(b, i)
    o[0] = fmaxf(0, x) + fminf(x, 1) + fmax(0, x) + fmax(x, d) + fmin(i, i)
    o[0] = sqrt(2)
    o[0] = sqrt(i) + sqrt(u) + sqrt(l) + sqrt(x) + sqrt(d)
    o[0] = rsqrt(x) + rsqrtf(x)
    o[0] = exp(i) + exp(1) + log(i) + log2(i) + log10(i) + log1p(i) + expm1(i) + exp2(i)
    o[0] = sin(i) + cos(i) + tan(i) + sinh(i) + cosh(i) + tanh(i) + asin(i) + acos(i) + atan(i)
    o[0] = erf(i) + erfc(i) + erff(x) + tgamma(i) + lgamma(i) + cbrt(i)
    o[0] = floor(i) + ceil(i) + round(i) + rint(i) + trunc(i) + nearbyint(i)
    o[0] = ceil(n / 2) + ceil((float)n / 2) + lround(x) + lround(i)
    o[0] = atan2(i, i) + atan2(x, 1) + hypot(i, i) + hypot(x, 1) + fmod(i, 2) + fmod(x, 2)
    o[0] = pow(i, i) + pow(2, i) + pow(x, 2) + pow(x, 2.0) + pow(2, x) + pow(d, i) + pow(2.0, i)
    o[0] = pow(2.0f, i) + powf(i, 2) + pow(x, 0.5f)
    o[0] = fma(x, x, x) + fma(x, i, x) + fma(x, 2.0, x) + copysign(x, 1) + ldexp(x, 2) + ldexp(i, 2)
    o[0] = abs(x) + abs(d) + abs(i) + abs(l) + abs(ll) + abs(s) + fabs(i) + fabs(x) + labs(l)
    o[0] = isnan(x) + isnan(i) + isinf(d) + isfinite(x) + signbit(x) + signbit(i) + isless(x, y)
    o[0] = std::max(x, y) + std::max(x, 0.0f) + std::max(i, 1) + std::max<float>(0, x)
    o[0] = std::min(x, y) + std::min(i, n) + std::min<int>(i, u)
    o[0] = std::sqrt(x) + std::sqrt(i) + std::sqrt(2) + std::exp(x) + std::exp(i) + std::log(x)
    o[0] = std::log2(x) + std::log10(x) + std::log1p(x) + std::expm1(x) + std::exp2(x) + std::cbrt(x)
    o[0] = std::sin(x) + std::cos(d) + std::tan(x) + std::asin(x) + std::acos(x) + std::atan(x)
    o[0] = std::sinh(x) + std::cosh(x) + std::tanh(x) + std::tanh(i) + std::erf(x) + std::erfc(x)
    o[0] = std::pow(x, y) + std::pow(x, 2) + std::pow(x, 2.0) + std::pow(i, i) + std::pow(2, i)
    o[0] = std::abs(x) + std::abs(i) + std::abs(d) + std::abs(ll) + std::fabs(x) + std::fabs(i)
    o[0] = std::floor(x) + std::ceil(x) + std::round(x) + std::trunc(x) + std::rint(x)
    o[0] = std::fmod(x, y) + std::fmax(x, y) + std::fmin(x, y) + std::fmax(x, 0) + std::fma(x, y, x)
    o[0] = std::hypot(x, y) + std::copysign(x, y) + std::ldexp(x, 2) + std::lround(x) + std::atan2(x, 1)
    o[0] = std::isnan(x) + std::isinf(x) + std::isfinite(x) + std::signbit(x)
    o[0] = INFINITY; o[1] = -INFINITY; o[2] = NAN; o[3] = HUGE_VAL; o[4] = HUGE_VALF
    o[0] = INT_MAX + UINT_MAX + CHAR_BIT; o[1] = INT_MIN; o[2] = LLONG_MAX
    o[0] = M_PI + M_PI_2 + M_SQRT2 + M_SQRT1_2 + M_2_SQRTPI + M_E + M_LN2 + M_LOG2E + M_1_PI
    o[0] = std::numeric_limits<float>::max() + std::numeric_limits<float>::lowest()
    o[0] = std::numeric_limits<float>::infinity(); o[1] = std::numeric_limits<int>::max()
    o[0] = std::numeric_limits<float>::epsilon(); o[1] = std::numeric_limits<double>::min()
    constexpr float low = -std::numeric_limits<float>::infinity(); o[0] = low
    o[0] = (int32_t)i + (int64_t)i + (size_t)i + (std::size_t)i + (uint)i + (ulong)i + (ushort)i
    static_assert(std::is_same<float, float>::value, ""); static_assert(sizeof(size_t) == 8, "")
    o[0] = std::move(x) + std::forward<float>(y)
    float* p = NULL; o[0] = p == nullptr
    printf("%d", i)
    assert(i > 0)
    memcpy(o, a, 16); memset(o, 0, 16)
    float4 v = reinterpret_cast<const float4*>(a)[i]; o[0] = v.x + make_float4(1, 2, 3, 4).y
    dim3 v(1, 2, 3); o[0] = v.x
    o[0] = __ldg(a + i) + __ldg(&a[i])
    atomicAdd(o, 1.0f); atomicAdd(o, 1); atomicAdd(o, 1.0); atomicMax((int*)o, i)
    atomicCAS((int*)o, 0, i); atomicAdd((double*)o, 1.0)
    o[0] = __shfl_down_sync(0xffffffff, x, 16) + __shfl_xor_sync(~0u, x, 1)
    o[0] = __popc(__ballot_sync(0xffffffff, i > 0)) + __any_sync(0xffffffff, i)
    o[0] = __expf(x) + __logf(x) + __powf(x, y) + __fdividef(x, y) + __saturatef(x)
    o[0] = __float_as_int(x) + __int_as_float(i) + __fmaf_rn(x, x, x) + __frcp_rn(x)
    sincosf(x, &x, &y); sincos(d, &d, &d); o[0] = x
    auto f = [&](int q) { return q + 1; }; o[0] = f(i)
    o[0] = 0.5 * x * (1.0 + tanh(sqrt(2.0 / M_PI) * (x + 0.044715 * pow(x, 3))))
    o[0] = 0.5f * x * (1.0f + erff(x * M_SQRT1_2))
    o[0] = 1.0 / (1.0 + exp(-x))
    extern __shared__ float sm[]; sm[i] = x; __syncthreads(); o[0] = sm[0]
    __shared__ float tile[32][33]; tile[0][i] = x; __syncthreads(); o[0] = tile[i][0]
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(u)); o[0] = u
    using namespace std; o[0] = max(x, 0.0f) + min(n, 4) + sqrt(x) + abs(x) + pow(x, 2) + exp(y)
    """),
)

WITH_HOST_HEADERS = Group(
    "with_host_headers",
    (
        *("math.h", "cmath", "stdio.h", "cstdio", "stdlib.h", "cstdlib", "float.h", "cfloat", "limits.h"),
        *("climits", "stdint.h", "cstdint", "stddef.h", "cstddef", "assert.h", "cassert", "string.h"),
        *("cstring", "algorithm", "iostream", "limits", "utility", "type_traits", "vector", "string"),
        *("cuda_runtime.h", "cuda.h", "device_launch_parameters.h", "math_constants.h"),
        *("chrono", "memory", "random"),
    ),
    lines("""
    o[0] = FLT_MAX + FLT_MIN + FLT_EPSILON + DBL_MAX
    o[0] = -FLT_MAX; for (int j = 0; j < n; j++) o[0] = fmaxf(o[0], a[j])
    o[0] = (uint8_t)i + (uint64_t)i + (std::uint32_t)i + (intptr_t)o + (uintptr_t)o + INT32_MAX
    o[0] = (ptrdiff_t)i + (std::ptrdiff_t)i
    std::printf("%d", i)
    std::memcpy(o, a, 16)
    o[0] = std::clamp(x, 0.0f, 1.0f)
    int arr[3] = {3, 1, 2}; o[0] = *std::max_element(arr, arr + 3)
    o[0] = CUDART_INF_F + CUDART_PI_F
    o[0] = std::max({x, y, 0.0f}) + std::min({i, n, 3})
    o[0] = std::is_floating_point<float>::value ? std::sqrt(x) : 0
    float* q = (float*)malloc(4); free(q)
    std::conditional_t<true, float, int> c = x; o[0] = c
    """),
)

WITH_CUDA_HEADERS = Group(
    "with_cuda_headers",
    ("cuda_fp16.h", "cuda_bf16.h", "mma.h", "cuda_pipeline.h"),
    lines("""
    __half h = __float2half(x); o[0] = __half2float(h)
    half2 h = __floats2half2_rn(x, y); o[0] = __low2float(__hadd2(h, h))
    __half h = x; h = h + h; o[0] = h
    o[0] = (float)hexp(__float2half(x)) + __half2float(__hmax(__float2half(x), __float2half(y)))
    __nv_bfloat16 v = __float2bfloat16(x); o[0] = __bfloat162float(v)
    nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> f; fill_fragment(f, 0.0f)
    __pipeline_commit(); __pipeline_wait_prior(0)
    """),
)


def whole_sources(folder: str) -> dict[str, str]:
    """The files under `parity/<folder>`, by name."""
    paths = sorted((Path(__file__).parent / "parity" / folder).glob("*.cu"))
    return {path.stem: path.read_text() for path in paths}


ACCEPTED_GROUPS = (WITHOUT_HEADERS, WITH_HOST_HEADERS, WITH_CUDA_HEADERS)
ACCEPTED_WHOLE = whole_sources("accepted")
SLOW_WHOLE = whole_sources("accepted_slow")
REJECTED_WHOLE = whole_sources("rejected")

REJECTED = lines("""
    o[0] = undefined_thing
    o[0] = x % 2
    int k = threadIdx; o[0] = k
    __shared__ float sm[n]; o[0] = sm[0]
    o[0] = std::max(0, x)
    o[0] = std::expf(x)
    o[0] = FLT_MAX
    o[0] = uint8_t(i)
    o[0] = rand()
    o[0] = __shfl_down(x, 16)
    atomicMax(o, x)
    a[0] = 1
    float* p = 3
    return 1
    o[0] = x y
    __shared__ float big[20000]; big[threadIdx.x] = x; __syncthreads(); o[0] = big[i]
""")

GENEROUS = lines("""
    o[0] = max(0, x)
    o[0] = max(x, 0) + min(x, 1) + max(0, d) + max(u, x) + max(ll, x) + max(ll, d)
    o[0] = max(l, i) + max(i, l) + max(ll, i) + max(ull, i) + max(ull, u) + max(z, 1) + min(z, u) + min(l, ll)
    o[0] = max(ll, ull) + max(l, ull) + min(u, ll) + min(s, x) + max(b, x)
    std::swap(x, y); o[0] = x
""")
"""Mixed types, which nvcc 13 finds ambiguous and the prelude resolves to the wider type, and `std::swap`."""
