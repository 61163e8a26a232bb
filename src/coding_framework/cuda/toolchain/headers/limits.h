// std::numeric_limits, callable from device code. The values are enumerators, because static
// members would become global variables in the PTX of every kernel.
#ifndef CF_LIMITS_H
#define CF_LIMITS_H

namespace std {

template <class __cf_T> struct numeric_limits {
  enum : bool { is_specialized = false };
};

template <class __cf_T> struct __cf_integer_limits {
  enum : bool { is_specialized = true };
  enum : bool { is_integer = true };
  enum : bool { is_exact = true };
  enum : bool { is_signed = is_signed_v<__cf_T> };
  enum : bool { has_infinity = false };
  enum : bool { has_quiet_NaN = false };
  enum : int { radix = 2 };
  enum : int { digits = static_cast<int>(sizeof(__cf_T)) * 8 - (is_signed_v<__cf_T> ? 1 : 0) };
  enum : int { digits10 = (static_cast<int>(sizeof(__cf_T)) * 8 - (is_signed_v<__cf_T> ? 1 : 0)) * 643L / 2136 };
  CF_CONST __cf_T epsilon() noexcept { return 0; }
  CF_CONST __cf_T infinity() noexcept { return 0; }
  CF_CONST __cf_T quiet_NaN() noexcept { return 0; }
};

template <class __cf_T> struct __cf_float_limits {
  enum : bool { is_specialized = true };
  enum : bool { is_integer = false };
  enum : bool { is_exact = false };
  enum : bool { is_signed = true };
  enum : bool { is_iec559 = true };
  enum : bool { has_infinity = true };
  enum : bool { has_quiet_NaN = true };
  enum : int { radix = 2 };
  enum : int { digits = sizeof(__cf_T) == 4 ? 24 : 53 };
  enum : int { digits10 = sizeof(__cf_T) == 4 ? 6 : 15 };
  CF_CONST __cf_T round_error() noexcept { return 0.5f; }
};

#define CF_INTEGER_LIMITS(__cf_T, LOW, HIGH)                             \
  template <> struct numeric_limits<__cf_T> : __cf_integer_limits<__cf_T> {   \
    CF_CONST __cf_T min() noexcept { return LOW; }                       \
    CF_CONST __cf_T lowest() noexcept { return LOW; }                    \
    CF_CONST __cf_T max() noexcept { return HIGH; }                      \
  };
CF_INTEGER_LIMITS(bool, false, true)
CF_INTEGER_LIMITS(char, CHAR_MIN, CHAR_MAX)
CF_INTEGER_LIMITS(signed char, SCHAR_MIN, SCHAR_MAX)
CF_INTEGER_LIMITS(unsigned char, 0, UCHAR_MAX)
CF_INTEGER_LIMITS(short, SHRT_MIN, SHRT_MAX)
CF_INTEGER_LIMITS(unsigned short, 0, USHRT_MAX)
CF_INTEGER_LIMITS(int, INT_MIN, INT_MAX)
CF_INTEGER_LIMITS(unsigned, 0, UINT_MAX)
CF_INTEGER_LIMITS(long, LONG_MIN, LONG_MAX)
CF_INTEGER_LIMITS(unsigned long, 0, ULONG_MAX)
CF_INTEGER_LIMITS(long long, LLONG_MIN, LLONG_MAX)
CF_INTEGER_LIMITS(unsigned long long, 0, ULLONG_MAX)

#define CF_FLOAT_LIMITS(__cf_T, LEAST, MOST, GAP, TINY, INF, QUIET)    \
  template <> struct numeric_limits<__cf_T> : __cf_float_limits<__cf_T> {   \
    CF_CONST __cf_T min() noexcept { return LEAST; }                   \
    CF_CONST __cf_T lowest() noexcept { return -MOST; }                \
    CF_CONST __cf_T max() noexcept { return MOST; }                    \
    CF_CONST __cf_T epsilon() noexcept { return GAP; }                 \
    CF_CONST __cf_T denorm_min() noexcept { return TINY; }             \
    CF_CONST __cf_T infinity() noexcept { return INF; }                \
    CF_CONST __cf_T quiet_NaN() noexcept { return QUIET; }             \
  };
CF_FLOAT_LIMITS(float, 1.17549435e-38f, 3.40282347e+38f, 1.1920929e-07f, 1.40129846e-45f, CF_INFINITY_F, CF_NAN_F)
CF_FLOAT_LIMITS(double, 2.2250738585072014e-308, 1.7976931348623157e+308, 2.2204460492503131e-16,
                4.9406564584124654e-324, CF_INFINITY, CF_NAN)

}  // namespace std
#endif  // CF_LIMITS_H
