// The part of <type_traits> and <utility> that kernels use.
#ifndef CF_TYPE_TRAITS_H
#define CF_TYPE_TRAITS_H

namespace std {

using size_t = decltype(sizeof(0));
using ptrdiff_t = decltype((char*)0 - (char*)0);
using nullptr_t = decltype(nullptr);

template <class __cf_T, __cf_T __cf_V>
struct integral_constant {
  static constexpr __cf_T value = __cf_V;
  using value_type = __cf_T;
  using type = integral_constant;
  __host__ __device__ constexpr operator __cf_T() const noexcept { return __cf_V; }
  __host__ __device__ constexpr __cf_T operator()() const noexcept { return __cf_V; }
};
template <bool __cf_V> using bool_constant = integral_constant<bool, __cf_V>;
using true_type = bool_constant<true>;
using false_type = bool_constant<false>;

template <bool __cf_C, class __cf_T = void> struct enable_if {};
template <class __cf_T> struct enable_if<true, __cf_T> { using type = __cf_T; };
template <bool __cf_C, class __cf_T = void> using enable_if_t = typename enable_if<__cf_C, __cf_T>::type;

template <bool __cf_C, class __cf_T, class __cf_F> struct conditional { using type = __cf_T; };
template <class __cf_T, class __cf_F> struct conditional<false, __cf_T, __cf_F> { using type = __cf_F; };
template <bool __cf_C, class __cf_T, class __cf_F> using conditional_t = typename conditional<__cf_C, __cf_T, __cf_F>::type;

template <class...> using void_t = void;

template <class __cf_T> struct remove_reference { using type = __cf_T; };
template <class __cf_T> struct remove_reference<__cf_T&> { using type = __cf_T; };
template <class __cf_T> struct remove_reference<__cf_T&&> { using type = __cf_T; };
template <class __cf_T> using remove_reference_t = typename remove_reference<__cf_T>::type;
template <class __cf_T> struct remove_const { using type = __cf_T; };
template <class __cf_T> struct remove_const<const __cf_T> { using type = __cf_T; };
template <class __cf_T> using remove_const_t = typename remove_const<__cf_T>::type;
template <class __cf_T> struct remove_volatile { using type = __cf_T; };
template <class __cf_T> struct remove_volatile<volatile __cf_T> { using type = __cf_T; };
template <class __cf_T> struct remove_cv { using type = remove_const_t<typename remove_volatile<__cf_T>::type>; };
template <class __cf_T> using remove_cv_t = typename remove_cv<__cf_T>::type;
template <class __cf_T> struct remove_pointer { using type = __cf_T; };
template <class __cf_T> struct remove_pointer<__cf_T*> { using type = __cf_T; };
template <class __cf_T> using remove_pointer_t = typename remove_pointer<__cf_T>::type;
template <class __cf_T> struct remove_extent { using type = __cf_T; };
template <class __cf_T> struct remove_extent<__cf_T[]> { using type = __cf_T; };
template <class __cf_T, size_t __cf_N> struct remove_extent<__cf_T[__cf_N]> { using type = __cf_T; };
template <class __cf_T> struct add_const { using type = const __cf_T; };
template <class __cf_T> using add_const_t = const __cf_T;
template <class __cf_T> struct add_pointer { using type = remove_reference_t<__cf_T>*; };
template <class __cf_T> using add_pointer_t = remove_reference_t<__cf_T>*;

template <class __cf_T> __host__ __device__ __cf_T&& declval() noexcept;

// Values first and classes from them: a class's static member, once used, becomes a global variable
// in the PTX of every kernel; a variable template does not.
template <class __cf_A, class __cf_B> inline constexpr bool is_same_v = false;
template <class __cf_A> inline constexpr bool is_same_v<__cf_A, __cf_A> = true;
template <class __cf_A, class __cf_B> struct is_same : bool_constant<is_same_v<__cf_A, __cf_B>> {};
template <class __cf_T, class... __cf_Any> inline constexpr bool __cf_is_any = (is_same_v<remove_cv_t<__cf_T>, __cf_Any> || ...);
template <class __cf_T> inline constexpr bool is_void_v = __cf_is_any<__cf_T, void>;
template <class __cf_T> struct is_void : bool_constant<is_void_v<__cf_T>> {};
template <class __cf_T> inline constexpr bool is_integral_v =
    __cf_is_any<__cf_T, bool, char, signed char, unsigned char, wchar_t, char16_t, char32_t, short, unsigned short,
                int, unsigned, long, unsigned long, long long, unsigned long long>;
template <class __cf_T> struct is_integral : bool_constant<is_integral_v<__cf_T>> {};
template <class __cf_T> inline constexpr bool is_floating_point_v = __cf_is_any<__cf_T, float, double>;
template <class __cf_T> struct is_floating_point : bool_constant<is_floating_point_v<__cf_T>> {};
template <class __cf_T> inline constexpr bool is_arithmetic_v = is_integral_v<__cf_T> || is_floating_point_v<__cf_T>;
template <class __cf_T> struct is_arithmetic : bool_constant<is_arithmetic_v<__cf_T>> {};
template <class __cf_T, bool = is_arithmetic_v<__cf_T>> inline constexpr bool __cf_is_signed = static_cast<__cf_T>(-1) < static_cast<__cf_T>(0);
template <class __cf_T> inline constexpr bool __cf_is_signed<__cf_T, false> = false;
template <class __cf_T> inline constexpr bool is_signed_v = __cf_is_signed<__cf_T>;
template <class __cf_T> struct is_signed : bool_constant<is_signed_v<__cf_T>> {};
template <class __cf_T> inline constexpr bool is_unsigned_v = is_arithmetic_v<__cf_T> && !is_signed_v<__cf_T>;
template <class __cf_T> struct is_unsigned : bool_constant<is_unsigned_v<__cf_T>> {};
template <class __cf_T> inline constexpr bool __cf_is_pointer = false;
template <class __cf_T> inline constexpr bool __cf_is_pointer<__cf_T*> = true;
template <class __cf_T> inline constexpr bool is_pointer_v = __cf_is_pointer<remove_cv_t<__cf_T>>;
template <class __cf_T> struct is_pointer : bool_constant<is_pointer_v<__cf_T>> {};
template <class __cf_T> inline constexpr bool is_reference_v = false;
template <class __cf_T> inline constexpr bool is_reference_v<__cf_T&> = true;
template <class __cf_T> inline constexpr bool is_reference_v<__cf_T&&> = true;
template <class __cf_T> struct is_reference : bool_constant<is_reference_v<__cf_T>> {};
template <class __cf_T> inline constexpr bool is_const_v = false;
template <class __cf_T> inline constexpr bool is_const_v<const __cf_T> = true;
template <class __cf_T> struct is_const : bool_constant<is_const_v<__cf_T>> {};
template <class __cf_T> inline constexpr bool is_array_v = false;
template <class __cf_T> inline constexpr bool is_array_v<__cf_T[]> = true;
template <class __cf_T, size_t __cf_N> inline constexpr bool is_array_v<__cf_T[__cf_N]> = true;
template <class __cf_T> struct is_array : bool_constant<is_array_v<__cf_T>> {};
template <class __cf_T> struct is_enum : bool_constant<__is_enum(__cf_T)> {};
template <class __cf_T> inline constexpr bool is_enum_v = is_enum<__cf_T>::value;
template <class __cf_T> struct is_class : bool_constant<__is_class(__cf_T)> {};
template <class __cf_T> inline constexpr bool is_class_v = is_class<__cf_T>::value;
template <class __cf_T> struct is_trivially_copyable : bool_constant<__is_trivially_copyable(__cf_T)> {};
template <class __cf_T> inline constexpr bool is_trivially_copyable_v = is_trivially_copyable<__cf_T>::value;
template <class __cf_B, class __cf_D> struct is_base_of : bool_constant<__is_base_of(__cf_B, __cf_D)> {};
template <class __cf_B, class __cf_D> inline constexpr bool is_base_of_v = is_base_of<__cf_B, __cf_D>::value;
template <class __cf_A, class __cf_B> struct is_convertible : bool_constant<__is_convertible_to(__cf_A, __cf_B)> {};
template <class __cf_A, class __cf_B> inline constexpr bool is_convertible_v = is_convertible<__cf_A, __cf_B>::value;

template <class __cf_T> struct decay {
 private:
  using __cf_U = remove_reference_t<__cf_T>;
 public:
  using type = conditional_t<is_array_v<__cf_U>, typename remove_extent<__cf_U>::type*, remove_cv_t<__cf_U>>;
};
template <class __cf_T> using decay_t = typename decay<__cf_T>::type;

template <class...> struct common_type {};
template <class __cf_T> struct common_type<__cf_T> { using type = decay_t<__cf_T>; };
template <class __cf_A, class __cf_B> struct common_type<__cf_A, __cf_B> {
  using type = decay_t<decltype(true ? declval<__cf_A>() : declval<__cf_B>())>;
};
template <class __cf_A, class __cf_B, class __cf_C, class... __cf_R> struct common_type<__cf_A, __cf_B, __cf_C, __cf_R...>
    : common_type<typename common_type<__cf_A, __cf_B>::type, __cf_C, __cf_R...> {};
template <class... __cf_T> using common_type_t = typename common_type<__cf_T...>::type;

template <class __cf_T> struct make_unsigned { using type = __cf_T; };
template <> struct make_unsigned<char> { using type = unsigned char; };
template <> struct make_unsigned<signed char> { using type = unsigned char; };
template <> struct make_unsigned<short> { using type = unsigned short; };
template <> struct make_unsigned<int> { using type = unsigned; };
template <> struct make_unsigned<long> { using type = unsigned long; };
template <> struct make_unsigned<long long> { using type = unsigned long long; };
template <class __cf_T> using make_unsigned_t = typename make_unsigned<__cf_T>::type;
template <class __cf_T> struct make_signed { using type = __cf_T; };
template <> struct make_signed<char> { using type = signed char; };
template <> struct make_signed<unsigned char> { using type = signed char; };
template <> struct make_signed<unsigned short> { using type = short; };
template <> struct make_signed<unsigned> { using type = int; };
template <> struct make_signed<unsigned long> { using type = long; };
template <> struct make_signed<unsigned long long> { using type = long long; };
template <class __cf_T> using make_signed_t = typename make_signed<__cf_T>::type;

template <class __cf_T> CF_FN constexpr void swap(__cf_T& __cf_a, __cf_T& __cf_b) noexcept {
  __cf_T __cf_kept = static_cast<__cf_T&&>(__cf_a);
  __cf_a = static_cast<__cf_T&&>(__cf_b);
  __cf_b = static_cast<__cf_T&&>(__cf_kept);
}

}  // namespace std
#endif  // CF_TYPE_TRAITS_H
