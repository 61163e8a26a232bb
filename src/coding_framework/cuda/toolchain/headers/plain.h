// The part of the prelude that costs nothing to read: typedefs, constants and limits of C. Enough for a
// source that mentions neither `std` nor a function with an overload of ours (standins.py decides).
#ifndef CF_PLAIN_H
#define CF_PLAIN_H

#define CF_FN __host__ __device__ __forceinline__
#define CF_CONST __host__ __device__ static constexpr

// 64-bit names are `long long`, as in the CCCL headers, which declare them again under NVRTC.
typedef int int32_t;
typedef short int16_t;
typedef signed char int8_t;
typedef signed long long int64_t;
typedef unsigned int u_int32_t;
typedef unsigned long long u_int64_t;
typedef unsigned short u_int16_t;
typedef unsigned char u_int8_t;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef unsigned short ushort;

#define CF_INFINITY_F __builtin_bit_cast(float, 0x7f800000)
#define CF_INFINITY __builtin_bit_cast(double, 0x7ff0000000000000LL)
#define CF_NAN_F __builtin_bit_cast(float, 0x7fc00000)
#define CF_NAN __builtin_bit_cast(double, 0x7ff8000000000000LL)
#define INFINITY CF_INFINITY_F
#define NAN CF_NAN_F
#define HUGE_VALF CF_INFINITY_F
#define HUGE_VAL CF_INFINITY

#define M_E 2.7182818284590452354
#define M_LOG2E 1.4426950408889634074
#define M_LOG10E 0.43429448190325182765
#define M_LN2 0.69314718055994530942
#define M_LN10 2.30258509299404568402
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_PI_4 0.78539816339744830962
#define M_1_PI 0.31830988618379067154
#define M_2_PI 0.63661977236758134308
#define M_2_SQRTPI 1.12837916709551257390
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440
#define M_Ef 2.7182818284590452354f
#define M_LOG2Ef 1.4426950408889634074f
#define M_LN2f 0.69314718055994530942f
#define M_LN10f 2.30258509299404568402f
#define M_PIf 3.14159265358979323846f
#define M_PI_2f 1.57079632679489661923f
#define M_PI_4f 0.78539816339744830962f
#define M_1_PIf 0.31830988618379067154f
#define M_2_PIf 0.63661977236758134308f
#define M_2_SQRTPIf 1.12837916709551257390f
#define M_SQRT2f 1.41421356237309504880f
#define M_SQRT1_2f 0.70710678118654752440f

#define CHAR_BIT 8
#define SCHAR_MIN (-128)
#define SCHAR_MAX 127
#define UCHAR_MAX 255
#define CHAR_MIN SCHAR_MIN
#define CHAR_MAX SCHAR_MAX
#define SHRT_MIN (-SHRT_MAX - 1)
#define SHRT_MAX 0x7fff
#define USHRT_MAX 0xffff
#define INT_MIN (-INT_MAX - 1)
#define INT_MAX 0x7fffffff
#define UINT_MAX 0xffffffff
#define LONG_MIN (-LONG_MAX - 1)
#define LONG_MAX LLONG_MAX
#define ULONG_MAX ULLONG_MAX
#define LLONG_MIN (-LLONG_MAX - 1)
#define LLONG_MAX 0x7fffffffffffffffLL
#define ULLONG_MAX 0xffffffffffffffffUL
#endif  // CF_PLAIN_H
