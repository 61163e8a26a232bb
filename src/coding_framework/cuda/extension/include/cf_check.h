// Errors and checks. What is thrown never leaves the shared object: the binding turns it into text.
#pragma once
#include <cstdio>

#include "cf_types.h"

namespace c10 {

class Error : public std::exception {
public:
    explicit Error(const std::string& message);
    ~Error() override;
    const char* what() const noexcept override;
    const std::string& msg() const { return message_; }
    const char* what_without_backtrace() const noexcept { return message_.c_str(); }
private:
    std::string message_;
};
struct IndexError : Error { using Error::Error; };
struct ValueError : Error { using Error::Error; };
struct NotImplementedError : Error { using Error::Error; };

}  // namespace c10

namespace cf {

// A message in the making; the standard streams would cost a fifth of a second of compile time.
class Text {
public:
    Text& operator<<(const char* text);
    Text& operator<<(const std::string& text);
    Text& operator<<(char letter);
    Text& operator<<(bool value);
    Text& operator<<(long value);
    Text& operator<<(unsigned long value);
    Text& operator<<(double value);
    Text& operator<<(const void* value);
    Text& operator<<(int value) { return *this << long(value); }
    Text& operator<<(unsigned value) { return *this << long(value); }
    Text& operator<<(long long value) { return *this << long(value); }
    Text& operator<<(unsigned long long value) { return *this << (unsigned long)value; }
    Text& operator<<(float value) { return *this << double(value); }
    Text& operator<<(short value) { return *this << long(value); }
    Text& operator<<(signed char value) { return *this << long(value); }
    Text& operator<<(unsigned char value) { return *this << long(value); }
    Text& operator<<(c10::ScalarType type) { return *this << c10::toString(type); }
    Text& operator<<(c10::TypeMeta type) { return *this << type.name(); }
    Text& operator<<(c10::DeviceType type) { return *this << (type == c10::kCUDA ? "cuda" : "cpu"); }
    Text& operator<<(const c10::Device& device);
    Text& operator<<(c10::IntArrayRef list);
    const std::string& str() const { return text_; }
private:
    std::string text_;
};

template <class... Parts> std::string text(const Parts&... parts) {
    Text result;
    (void)(result << ... << parts);
    return result.str();
}

[[noreturn]] void fail(const std::string& message);
[[noreturn]] void fail(const char* message);
[[noreturn]] void fail_check(const char* otherwise, const std::string& message);
[[noreturn]] void fail_index(const std::string& message);

}  // namespace cf

namespace c10 {
template <class... Parts> std::string str(const Parts&... parts) { return cf::text(parts...); }
}  // namespace c10

#define CF_CHECK(condition, ...)                                                         \
    do {                                                                                 \
        if (!(condition)) ::cf::fail_check("Expected " #condition " to be true", ::cf::text(__VA_ARGS__)); \
    } while (false)
#define TORCH_CHECK(condition, ...) CF_CHECK(condition, ##__VA_ARGS__)
#define TORCH_CHECK_ARG(condition, number, ...) CF_CHECK(condition, ##__VA_ARGS__)
#define TORCH_CHECK_VALUE(condition, ...) CF_CHECK(condition, ##__VA_ARGS__)
#define TORCH_CHECK_TYPE(condition, ...) CF_CHECK(condition, ##__VA_ARGS__)
#define TORCH_CHECK_INDEX(condition, ...) CF_CHECK(condition, ##__VA_ARGS__)
#define TORCH_CHECK_NOT_IMPLEMENTED(condition, ...) CF_CHECK(condition, ##__VA_ARGS__)
#define TORCH_INTERNAL_ASSERT(condition, ...) CF_CHECK(condition, ##__VA_ARGS__)
#define TORCH_INTERNAL_ASSERT_DEBUG_ONLY(condition, ...) ((void)0)
#define AT_ASSERT(condition, ...) CF_CHECK(condition, ##__VA_ARGS__)
#define AT_ASSERTM(condition, ...) CF_CHECK(condition, ##__VA_ARGS__)
#define AT_CHECK(condition, ...) CF_CHECK(condition, ##__VA_ARGS__)
#define AT_ERROR(...) ::cf::fail(::cf::text(__VA_ARGS__))
#define TORCH_CHECK_EQ(a, b) CF_CHECK((a) == (b), #a " == " #b " does not hold")
#define TORCH_CHECK_NE(a, b) CF_CHECK((a) != (b), #a " != " #b " does not hold")
#define TORCH_CHECK_LT(a, b) CF_CHECK((a) < (b), #a " < " #b " does not hold")
#define TORCH_CHECK_LE(a, b) CF_CHECK((a) <= (b), #a " <= " #b " does not hold")
#define TORCH_CHECK_GT(a, b) CF_CHECK((a) > (b), #a " > " #b " does not hold")
#define TORCH_CHECK_GE(a, b) CF_CHECK((a) >= (b), #a " >= " #b " does not hold")
#define TORCH_WARN(...) ::fprintf(stderr, "%s\n", ::cf::text(__VA_ARGS__).c_str())
#define TORCH_WARN_ONCE(...) TORCH_WARN(__VA_ARGS__)
#define C10_UNUSED [[maybe_unused]]
#define C10_HOST_DEVICE __host__ __device__
#define C10_DEVICE __device__
#define C10_HOST __host__
#define C10_RESTRICT __restrict__
#define C10_LAUNCH_BOUNDS_1(threads) __launch_bounds__(threads)
#define C10_LAUNCH_BOUNDS_2(threads, blocks) __launch_bounds__(threads, blocks)
