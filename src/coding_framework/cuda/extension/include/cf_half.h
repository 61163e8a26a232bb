// c10::Half and c10::BFloat16 with the arithmetic of torch's: each operation is done in float and rounded.
// CUDA's own half headers cost a quarter of the compile time, so they come only where the source needs them.
#pragma once
#include "cf_types.h"

#ifdef CF_WITH_HALF
#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace c10 {

#define CF_HD inline __host__ __device__
#define CF_SMALL_FLOAT(Name, Native, from_float, to_float)                                             \
    struct alignas(2) Name {                                                                           \
        unsigned short x;                                                                              \
        struct from_bits_t {};                                                                         \
        static constexpr __host__ __device__ from_bits_t from_bits() { return from_bits_t(); }         \
        Name() = default;                                                                              \
        constexpr __host__ __device__ Name(unsigned short bits, from_bits_t) : x(bits) {}              \
        __host__ __device__ Name(float value) { Native n = from_float(value); x = reinterpret_cast<unsigned short&>(n); } \
        __host__ __device__ Name(const Native& n) { x = reinterpret_cast<const unsigned short&>(n); }  \
        __host__ __device__ operator float() const { return to_float(native()); }                      \
        __host__ __device__ operator Native() const { return native(); }                               \
        __host__ __device__ Native native() const { Native n; reinterpret_cast<unsigned short&>(n) = x; return n; } \
    };                                                                                                 \
    CF_ARITHMETIC(Name, +) CF_ARITHMETIC(Name, -) CF_ARITHMETIC(Name, *) CF_ARITHMETIC(Name, /)        \
    CF_HD Name operator-(const Name& a) { return Name(-float(a)); }
#define CF_ARITHMETIC(Name, op)                                                                        \
    CF_HD Name operator op(const Name& a, const Name& b) { return Name(float(a) op float(b)); }        \
    CF_HD Name& operator op##=(Name& a, const Name& b) { a = a op b; return a; }                       \
    CF_HD float operator op(Name a, float b) { return float(a) op b; }                                 \
    CF_HD float operator op(float a, Name b) { return a op float(b); }                                 \
    CF_HD float& operator op##=(float& a, const Name& b) { return a op##= float(b); }                  \
    CF_HD double operator op(Name a, double b) { return double(float(a)) op b; }                       \
    CF_HD double operator op(double a, Name b) { return a op double(float(b)); }                       \
    CF_HD Name operator op(Name a, int b) { return a op Name(float(b)); }                              \
    CF_HD Name operator op(int a, Name b) { return Name(float(a)) op b; }                              \
    CF_HD Name operator op(Name a, int64_t b) { return a op Name(float(b)); }                          \
    CF_HD Name operator op(int64_t a, Name b) { return Name(float(a)) op b; }
CF_SMALL_FLOAT(Half, __half, __float2half, __half2float)
CF_SMALL_FLOAT(BFloat16, __nv_bfloat16, __float2bfloat16, __bfloat162float)
#undef CF_ARITHMETIC
#undef CF_SMALL_FLOAT

}  // namespace c10

#include <limits>
#define CF_LIMITS(Name, low, high, tiny, eps, inf)                                                     \
    template <> class std::numeric_limits<c10::Name> {                                                 \
    public:                                                                                            \
        static constexpr bool is_specialized = true, is_signed = true, is_integer = false, has_infinity = true; \
        static constexpr __host__ __device__ c10::Name lowest() { return {low, c10::Name::from_bits()}; }       \
        static constexpr __host__ __device__ c10::Name max() { return {high, c10::Name::from_bits()}; }         \
        static constexpr __host__ __device__ c10::Name min() { return {tiny, c10::Name::from_bits()}; }         \
        static constexpr __host__ __device__ c10::Name epsilon() { return {eps, c10::Name::from_bits()}; }      \
        static constexpr __host__ __device__ c10::Name infinity() { return {inf, c10::Name::from_bits()}; }     \
    };
CF_LIMITS(Half, 0xFBFF, 0x7BFF, 0x0400, 0x1400, 0x7C00)
CF_LIMITS(BFloat16, 0xFF7F, 0x7F7F, 0x0080, 0x3C00, 0x7F80)
#undef CF_LIMITS
#endif
