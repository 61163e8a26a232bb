// One body of code for several element types, chosen when the program runs.
#pragma once
#include "cf_check.h"
#include "cf_half.h"

#define CF_DISPATCH_CASE(type, cpp, ...) case type: { using scalar_t [[maybe_unused]] = cpp; return __VA_ARGS__(); }
#define CF_DISPATCH(TYPE, NAME, CASES)                                                          \
    [&] {                                                                                       \
        const c10::ScalarType cf_type = TYPE;                                                   \
        switch (cf_type) {                                                                      \
            CASES                                                                               \
            default: ::cf::fail(::cf::text('"', NAME, "\" not implemented for '", cf_type, "'")); \
        }                                                                                       \
    }()
#define CF_CASES_FLOATING(...) \
    CF_DISPATCH_CASE(c10::kDouble, double, __VA_ARGS__) CF_DISPATCH_CASE(c10::kFloat, float, __VA_ARGS__)
#define CF_CASES_INTEGRAL(...)                                                                               \
    CF_DISPATCH_CASE(c10::kByte, uint8_t, __VA_ARGS__) CF_DISPATCH_CASE(c10::kChar, int8_t, __VA_ARGS__)     \
    CF_DISPATCH_CASE(c10::kShort, int16_t, __VA_ARGS__) CF_DISPATCH_CASE(c10::kInt, int, __VA_ARGS__)        \
    CF_DISPATCH_CASE(c10::kLong, int64_t, __VA_ARGS__)
#define CF_CASE_NAMED(TYPE, ...) CF_DISPATCH_CASE(TYPE, cf::CppTypeOf<TYPE>::type, __VA_ARGS__)

namespace cf {
template <c10::ScalarType> struct CppTypeOf;
template <> struct CppTypeOf<c10::kHalf> { using type = c10::Half; };
template <> struct CppTypeOf<c10::kBFloat16> { using type = c10::BFloat16; };
template <> struct CppTypeOf<c10::kBool> { using type = bool; };
template <> struct CppTypeOf<c10::kInt> { using type = int; };
template <> struct CppTypeOf<c10::kLong> { using type = int64_t; };
}  // namespace cf

#define AT_DISPATCH_SWITCH(TYPE, NAME, ...) CF_DISPATCH(TYPE, NAME, __VA_ARGS__)
#define AT_DISPATCH_CASE(TYPE, ...) CF_CASE_NAMED(TYPE, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_TYPES(...) CF_CASES_FLOATING(__VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES(TYPE, NAME, ...) CF_DISPATCH(TYPE, NAME, CF_CASES_FLOATING(__VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND_HALF(TYPE, NAME, ...) \
    CF_DISPATCH(TYPE, NAME, CF_CASES_FLOATING(__VA_ARGS__) CF_CASE_NAMED(c10::kHalf, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND(A, TYPE, NAME, ...) \
    CF_DISPATCH(TYPE, NAME, CF_CASES_FLOATING(__VA_ARGS__) CF_CASE_NAMED(A, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND2(A, B, TYPE, NAME, ...) \
    CF_DISPATCH(TYPE, NAME, CF_CASES_FLOATING(__VA_ARGS__) CF_CASE_NAMED(A, __VA_ARGS__) CF_CASE_NAMED(B, __VA_ARGS__))
#define AT_DISPATCH_INTEGRAL_TYPES(TYPE, NAME, ...) CF_DISPATCH(TYPE, NAME, CF_CASES_INTEGRAL(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES(TYPE, NAME, ...) \
    CF_DISPATCH(TYPE, NAME, CF_CASES_INTEGRAL(__VA_ARGS__) CF_CASES_FLOATING(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND(A, TYPE, NAME, ...) \
    CF_DISPATCH(TYPE, NAME, CF_CASES_INTEGRAL(__VA_ARGS__) CF_CASES_FLOATING(__VA_ARGS__) CF_CASE_NAMED(A, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND2(A, B, TYPE, NAME, ...)                                                   \
    CF_DISPATCH(TYPE, NAME, CF_CASES_INTEGRAL(__VA_ARGS__) CF_CASES_FLOATING(__VA_ARGS__)                   \
                CF_CASE_NAMED(A, __VA_ARGS__) CF_CASE_NAMED(B, __VA_ARGS__))
