// Overloads of min, max and the math functions that nvcc has (or that people expect of it) and NVRTC
// lacks. The mixed min and max are plain functions, so that a template of the candidate's own can
// never be ambiguous with them.
#ifndef CF_MATH_H
#define CF_MATH_H

#define CF_ORDER(__cf_A, __cf_B, __cf_C)                                                  \
  CF_FN __cf_C max(__cf_A __cf_a, __cf_B __cf_b) { return max(static_cast<__cf_C>(__cf_a), static_cast<__cf_C>(__cf_b)); } \
  CF_FN __cf_C max(__cf_B __cf_a, __cf_A __cf_b) { return max(static_cast<__cf_C>(__cf_a), static_cast<__cf_C>(__cf_b)); } \
  CF_FN __cf_C min(__cf_A __cf_a, __cf_B __cf_b) { return min(static_cast<__cf_C>(__cf_a), static_cast<__cf_C>(__cf_b)); } \
  CF_FN __cf_C min(__cf_B __cf_a, __cf_A __cf_b) { return min(static_cast<__cf_C>(__cf_a), static_cast<__cf_C>(__cf_b)); }
#define CF_ORDER_WITH_FLOATS(__cf_T) CF_ORDER(__cf_T, float, float) CF_ORDER(__cf_T, double, double)
CF_ORDER_WITH_FLOATS(int)
CF_ORDER_WITH_FLOATS(unsigned)
CF_ORDER_WITH_FLOATS(long)
CF_ORDER_WITH_FLOATS(unsigned long)
CF_ORDER_WITH_FLOATS(long long)
CF_ORDER_WITH_FLOATS(unsigned long long)
CF_ORDER(int, long, long)
CF_ORDER(int, unsigned long, unsigned long)
CF_ORDER(int, long long, long long)
CF_ORDER(int, unsigned long long, unsigned long long)
CF_ORDER(unsigned, long, long)
CF_ORDER(unsigned, unsigned long, unsigned long)
CF_ORDER(unsigned, long long, long long)
CF_ORDER(unsigned, unsigned long long, unsigned long long)
CF_ORDER(long, long long, long long)
CF_ORDER(long, unsigned long long, unsigned long long)
CF_ORDER(unsigned long, long long, unsigned long long)
CF_ORDER(unsigned long, unsigned long long, unsigned long long)

namespace __cf {
template <class __cf_T> using if_integer = std::enable_if_t<std::is_integral_v<__cf_T>, int>;
// Two arguments that no overload fits best: integers only, or float beside double.
template <class __cf_A, class __cf_B> using if_torn = std::enable_if_t<
    (std::is_integral_v<__cf_A> && std::is_integral_v<__cf_B>) ||
    (std::is_floating_point_v<__cf_A> && std::is_floating_point_v<__cf_B> && !std::is_same_v<__cf_A, __cf_B>), int>;
template <class... __cf_T> inline constexpr bool has_float = (std::is_same_v<__cf_T, float> || ...);
template <class... __cf_T> inline constexpr bool has_double = (std::is_same_v<__cf_T, double> || ...);
template <class... __cf_T> using if_torn_three = std::enable_if_t<
    (std::is_arithmetic_v<__cf_T> && ...) &&
    ((has_float<__cf_T...> && has_double<__cf_T...>) || (std::is_integral_v<__cf_T> && ...)), int>;
}  // namespace __cf

#define CF_OF_INTEGER(NAME, RESULT) \
  template <class __cf_T, __cf::if_integer<__cf_T> = 0> CF_FN RESULT NAME(__cf_T __cf_x) { return NAME(static_cast<double>(__cf_x)); }
#define CF_OF_TWO(NAME)                                                      \
  template <class __cf_A, class __cf_B, __cf::if_torn<__cf_A, __cf_B> = 0> CF_FN double NAME(__cf_A __cf_x, __cf_B __cf_y) { \
    return NAME(static_cast<double>(__cf_x), static_cast<double>(__cf_y));             \
  }
#define CF_FOR_EACH_UNARY(DO)                                                             \
  DO(acos) DO(acosh) DO(asin) DO(asinh) DO(atan) DO(atanh) DO(cbrt) DO(ceil) DO(cos) DO(cosh) \
  DO(erf) DO(erfc) DO(exp) DO(exp2) DO(expm1) DO(fabs) DO(floor) DO(lgamma) DO(log) DO(log10) \
  DO(log1p) DO(log2) DO(logb) DO(nearbyint) DO(rint) DO(round) DO(sin) DO(sinh) DO(sqrt) DO(tan) \
  DO(tanh) DO(tgamma) DO(trunc)
#define CF_FOR_EACH_BINARY(DO) \
  DO(atan2) DO(fdim) DO(fmax) DO(fmin) DO(fmod) DO(hypot) DO(nextafter) DO(pow) DO(remainder)
#define CF_FOR_EACH_TEST(DO) DO(isnan) DO(isinf) DO(isfinite) DO(signbit)

#define CF_DOUBLE_OF_INTEGER(NAME) CF_OF_INTEGER(NAME, double)
#define CF_BOOL_OF_INTEGER(NAME) CF_OF_INTEGER(NAME, bool)
CF_FOR_EACH_UNARY(CF_DOUBLE_OF_INTEGER)
CF_FOR_EACH_TEST(CF_BOOL_OF_INTEGER)
CF_OF_INTEGER(lround, long)
CF_OF_INTEGER(llround, long long)
CF_OF_INTEGER(lrint, long)
CF_OF_INTEGER(llrint, long long)
CF_OF_INTEGER(ilogb, int)
CF_FOR_EACH_BINARY(CF_OF_TWO)
template <class __cf_T, __cf::if_integer<__cf_T> = 0> CF_FN double ldexp(__cf_T __cf_x, int __cf_e) { return ldexp(double(__cf_x), __cf_e); }
template <class __cf_T, __cf::if_integer<__cf_T> = 0> CF_FN double scalbn(__cf_T __cf_x, int __cf_e) { return scalbn(double(__cf_x), __cf_e); }
template <class __cf_A, class __cf_B, class __cf_C, __cf::if_torn_three<__cf_A, __cf_B, __cf_C> = 0>
CF_FN double fma(__cf_A __cf_x, __cf_B __cf_y, __cf_C __cf_z) {
  return fma(double(__cf_x), double(__cf_y), double(__cf_z));
}
template <class __cf_A, class __cf_B,
          std::enable_if_t<std::is_arithmetic_v<__cf_A> && std::is_arithmetic_v<__cf_B> && !std::is_same_v<__cf_A, __cf_B>, int> = 0>
CF_FN double copysign(__cf_A __cf_x, __cf_B __cf_y) {
  return copysign(double(__cf_x), double(__cf_y));
}

#define CF_COMPARE(NAME, EXPRESSION)                                                   \
  CF_FN bool NAME(double __cf_x, double __cf_y) { return EXPRESSION; }
CF_COMPARE(isless, __cf_x < __cf_y)
CF_COMPARE(islessequal, __cf_x <= __cf_y)
CF_COMPARE(isgreater, __cf_x > __cf_y)
CF_COMPARE(isgreaterequal, __cf_x >= __cf_y)
CF_COMPARE(islessgreater, __cf_x < __cf_y || __cf_x > __cf_y)
CF_COMPARE(isunordered, isnan(__cf_x) || isnan(__cf_y))

namespace std {
#define CF_USING(NAME) using ::NAME;
CF_FOR_EACH_UNARY(CF_USING)
CF_FOR_EACH_BINARY(CF_USING)
CF_FOR_EACH_TEST(CF_USING)
CF_USING(abs) CF_USING(fma) CF_USING(copysign) CF_USING(ldexp) CF_USING(scalbn) CF_USING(frexp) CF_USING(modf)
CF_USING(lround) CF_USING(llround) CF_USING(lrint) CF_USING(llrint) CF_USING(ilogb) CF_USING(remquo)
CF_USING(isless) CF_USING(islessequal) CF_USING(isgreater) CF_USING(isgreaterequal)
CF_USING(islessgreater) CF_USING(isunordered)

template <class __cf_T> CF_FN constexpr const __cf_T& max(const __cf_T& __cf_a, const __cf_T& __cf_b) { return __cf_a < __cf_b ? __cf_b : __cf_a; }
template <class __cf_T> CF_FN constexpr const __cf_T& min(const __cf_T& __cf_a, const __cf_T& __cf_b) { return __cf_b < __cf_a ? __cf_b : __cf_a; }
template <class __cf_T, class __cf_Less> CF_FN constexpr const __cf_T& max(const __cf_T& __cf_a, const __cf_T& __cf_b, __cf_Less __cf_less) {
  return __cf_less(__cf_a, __cf_b) ? __cf_b : __cf_a;
}
template <class __cf_T, class __cf_Less> CF_FN constexpr const __cf_T& min(const __cf_T& __cf_a, const __cf_T& __cf_b, __cf_Less __cf_less) {
  return __cf_less(__cf_b, __cf_a) ? __cf_b : __cf_a;
}
template <class __cf_T> CF_FN constexpr __cf_T max(initializer_list<__cf_T> __cf_values) {
  __cf_T __cf_best = *__cf_values.begin();
  for (const __cf_T& __cf_value : __cf_values)
    if (__cf_best < __cf_value) __cf_best = __cf_value;
  return __cf_best;
}
template <class __cf_T> CF_FN constexpr __cf_T min(initializer_list<__cf_T> __cf_values) {
  __cf_T __cf_best = *__cf_values.begin();
  for (const __cf_T& __cf_value : __cf_values)
    if (__cf_value < __cf_best) __cf_best = __cf_value;
  return __cf_best;
}
}  // namespace std
#endif  // CF_MATH_H
