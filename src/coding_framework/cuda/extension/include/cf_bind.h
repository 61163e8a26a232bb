// PYBIND11_MODULE and m.def(): the same words, another mechanism. Parameter types are read off the
// function; arguments and results cross as tagged values; nothing that is thrown crosses at all.
#pragma once
#include "cf_ops.h"

namespace pybind11 { class module_; }
namespace cf {

// Whatever a result points into lives here until the host has read it. Lists keep their addresses when moved.
struct Result {
    std::vector<at::Tensor> tensors;
    std::vector<std::vector<at::Tensor>> lists;
    std::vector<std::vector<RawValue>> tuples;
    std::vector<std::vector<int64_t>> integers;
    std::vector<std::vector<double>> reals;
    std::vector<std::vector<char>> strings;
    ~Result();
};
RawValue give_tensor(Result& result, const at::Tensor& value);
RawValue give_tensors(Result& result, const std::vector<at::Tensor>& value);
RawValue give_string(Result& result, const std::string& value);
RawValue give_values(Result& result, std::vector<RawValue>&& values);
RawValue give_integers(Result& result, std::vector<int64_t>&& values);
RawValue give_reals(Result& result, std::vector<double>&& values);

struct Mismatch {};  // an argument of the wrong kind; never leaves the binding
[[noreturn]] void mismatch();
at::Tensor take_tensor(const RawValue& value);
std::vector<at::Tensor> take_tensors(const RawValue& value);
std::string take_string(const RawValue& value);
c10::Scalar take_scalar(const RawValue& value);

template <class T> struct Convert {
    static_assert(sizeof(T) == 0, "pybind11: the light header does not know this parameter or result type");
};
template <class T> struct ConvertInt {
    static T take(const RawValue& v) { if (v.tag != kInt && v.tag != kBool) mismatch(); return T(v.integer); }
    static RawValue give(Result&, T v) { return Value(int64_t(v)); }
};
template <class T> struct ConvertReal {
    static T take(const RawValue& v) {
        if (v.tag != kDouble && v.tag != kInt) mismatch();
        return v.tag == kDouble ? T(v.real) : T(v.integer);
    }
    static RawValue give(Result&, T v) { return Value(double(v)); }
};
template <> struct Convert<int> : ConvertInt<int> {};
template <> struct Convert<unsigned> : ConvertInt<unsigned> {};
template <> struct Convert<long> : ConvertInt<long> {};
template <> struct Convert<long long> : ConvertInt<long long> {};
template <> struct Convert<unsigned long> : ConvertInt<unsigned long> {};
template <> struct Convert<short> : ConvertInt<short> {};
template <> struct Convert<float> : ConvertReal<float> {};
template <> struct Convert<double> : ConvertReal<double> {};
template <> struct Convert<bool> {
    static bool take(const RawValue& v) { if (v.tag != kBool) mismatch(); return v.integer != 0; }
    static RawValue give(Result&, bool v) { return Value(v); }
};
template <> struct Convert<std::string> {
    static std::string take(const RawValue& v) { return take_string(v); }
    static RawValue give(Result& result, const std::string& v) { return give_string(result, v); }
};
template <> struct Convert<c10::Scalar> {
    static c10::Scalar take(const RawValue& v) { return take_scalar(v); }
    static RawValue give(Result&, const c10::Scalar& v) { return Value(v); }
};
template <> struct Convert<c10::ScalarType> {
    static c10::ScalarType take(const RawValue& v) { if (v.tag != kDType) mismatch(); return c10::ScalarType(v.integer); }
};
template <> struct Convert<at::Tensor> {
    static at::Tensor take(const RawValue& v) { return take_tensor(v); }
    static RawValue give(Result& result, const at::Tensor& v) { return give_tensor(result, v); }
};
template <class T> struct Convert<std::optional<T>> {
    static std::optional<T> take(const RawValue& v) {
        if (v.tag == kNone) return std::nullopt;
        return Convert<T>::take(v);
    }
    static RawValue give(Result& result, const std::optional<T>& v) { return v ? Convert<T>::give(result, *v) : RawValue(Value()); }
};
template <> struct Convert<std::vector<at::Tensor>> {
    static std::vector<at::Tensor> take(const RawValue& v) { return take_tensors(v); }
    static RawValue give(Result& result, const std::vector<at::Tensor>& v) { return give_tensors(result, v); }
};
template <class T> struct Convert<std::vector<T>> {
    static_assert(std::is_arithmetic<T>::value, "pybind11: the light header knows lists of tensors and numbers only");
    static std::vector<T> take(const RawValue& v) {
        auto* integers = static_cast<const int64_t*>(v.pointer);
        auto* reals = static_cast<const double*>(v.pointer);
        if (v.tag == kIntList) return std::vector<T>(integers, integers + v.count);
        if (v.tag != kDoubleList || std::is_integral<T>::value) mismatch();
        return std::vector<T>(reals, reals + v.count);
    }
    static RawValue give(Result& result, const std::vector<T>& v) {
        if constexpr (std::is_integral<T>::value) return give_integers(result, std::vector<int64_t>(v.begin(), v.end()));
        else return give_reals(result, std::vector<double>(v.begin(), v.end()));
    }
};
template <class... T> struct Convert<std::tuple<T...>> {
    static RawValue give(Result& result, const std::tuple<T...>& v) { return each(result, v, std::index_sequence_for<T...>()); }
    template <size_t... I> static RawValue each(Result& result, const std::tuple<T...>& v, std::index_sequence<I...>) {
        return give_values(result, {Convert<T>::give(result, std::get<I>(v))...});
    }
};
template <class A, class B> struct Convert<std::pair<A, B>> {
    static RawValue give(Result& result, const std::pair<A, B>& v) {
        return give_values(result, {Convert<A>::give(result, v.first), Convert<B>::give(result, v.second)});
    }
};

// What a parameter is kept in while the function runs.
template <class P> struct Stored { using type = std::remove_cv_t<std::remove_reference_t<P>>; };
template <> struct Stored<c10::IntArrayRef> { using type = std::vector<int64_t>; };
template <> struct Stored<const c10::IntArrayRef&> { using type = std::vector<int64_t>; };
template <> struct Stored<at::TensorList> { using type = std::vector<at::Tensor>; };
template <> struct Stored<const char*> { using type = std::string; };
template <class P, class S> decltype(auto) pass(S& stored) {
    if constexpr (std::is_same<P, const char*>::value) return stored.c_str();
    else return static_cast<std::conditional_t<std::is_reference<P>::value, std::remove_reference_t<P>&, S&&>>(stored);
}

struct Function {
    std::string name;
    int arity;
    std::vector<RawValue> defaults;  // of the last parameters
    virtual RawValue invoke(const RawValue* arguments, Result& result) = 0;
    virtual ~Function();
};

template <class F, class R, class... P> struct Bound final : Function {
    explicit Bound(F f) : function(f) { arity = int(sizeof...(P)); }
    RawValue invoke(const RawValue* arguments, Result& result) override {
        return apply(arguments, result, std::make_index_sequence<sizeof...(P)>());
    }
    template <size_t... I> RawValue apply(const RawValue* arguments, Result& result, std::index_sequence<I...>) {
        std::tuple<typename Stored<P>::type...> kept{Convert<typename Stored<P>::type>::take(arguments[I])...};
        if constexpr (std::is_void<R>::value) {
            function(pass<P>(std::get<I>(kept))...);
            return Value();
        } else {
            return Convert<std::remove_cv_t<std::remove_reference_t<R>>>::give(result, function(pass<P>(std::get<I>(kept))...));
        }
    }
    F function;
};

void define(Function* function);
const char* function_name(int32_t index);
int32_t load(const Host* host, void (*define)(pybind11::module_&), char* error);
int32_t invoke(Call* call);
void finish(Call* call);

}  // namespace cf

namespace pybind11 {

struct none {};
// A default value, with its own copy of what the value points into.
struct arg_v { cf::Value value; std::string text; std::vector<int64_t> list; };
struct arg {
    explicit constexpr arg(const char*) {}
    arg& noconvert(bool = true) { return *this; }
    arg_v operator=(none) const { return {}; }
    arg_v operator=(std::nullopt_t) const { return {}; }
    arg_v operator=(const std::string& text) const { return {cf::Value(cf::kString), text, {}}; }
    arg_v operator=(const char* text) const { return {cf::Value(cf::kString), text, {}}; }
    arg_v operator=(const std::vector<int64_t>& list) const { return {cf::Value(cf::kIntList), {}, list}; }
    template <class T, class = std::enable_if_t<std::is_arithmetic<T>::value>> arg_v operator=(T value) const {
        return {cf::Value(c10::Scalar(value)), {}, {}};
    }
};
namespace literals { inline arg operator""_a(const char* name, size_t) { return arg(name); } }
struct gil_scoped_release {};
struct gil_scoped_acquire {};
template <class...> struct call_guard {};
enum class return_value_policy { automatic, copy, move, reference, take_ownership };

class module_ {
public:
    template <class R, class... P, class... Extra> module_& def(const char* name, R (*f)(P...), const Extra&... extra) {
        return add<R, P...>(name, f, extra...);
    }
    template <class F, class... Extra, class = decltype(&F::operator())>
    module_& def(const char* name, F f, const Extra&... extra) { return add_object(name, f, &F::operator(), extra...); }
    std::string& doc() { static std::string text; return text; }
private:
    template <class F, class R, class... P, class... Extra>
    module_& add_object(const char* name, F f, R (F::*)(P...) const, const Extra&... extra) { return add<R, P...>(name, f, extra...); }
    template <class R, class... P, class F, class... Extra> module_& add(const char* name, F f, const Extra&... extra) {
        auto* bound = new cf::Bound<F, R, P...>(f);
        bound->name = name;
        (note(bound, extra), ...);
        cf::define(bound);
        return *this;
    }
    static void note(cf::Function* function, const arg_v& argument);
    template <class Other> static void note(cf::Function*, const Other&) {}
};
using module = module_;

}  // namespace pybind11
namespace py = pybind11;

#define PYBIND11_MODULE(name, variable)                     \
    static void cf_define_module(::pybind11::module_&);     \
    CF_EXPORTS                                              \
    static void cf_define_module([[maybe_unused]] ::pybind11::module_& variable)
#define CF_EXPORT extern "C" __attribute__((visibility("default")))
#define CF_EXPORTS                                                                                             \
    CF_EXPORT int32_t cf_extension_load(const ::cf::Host* host, char* error) { return ::cf::load(host, &cf_define_module, error); } \
    CF_EXPORT int32_t cf_extension_call(::cf::Call* call) { return ::cf::invoke(call); }                       \
    CF_EXPORT void cf_extension_finish(::cf::Call* call) { ::cf::finish(call); }                               \
    CF_EXPORT const char* cf_extension_function(int32_t index) { return ::cf::function_name(index); }
