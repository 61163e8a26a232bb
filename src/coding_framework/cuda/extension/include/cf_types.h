// Scalar types, devices, array references, options: the small vocabulary of torch's C++ interface.
#pragma once
#include <initializer_list>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "cf_abi.h"

namespace c10 {

using std::nullopt;
using std::nullopt_t;
using std::optional;
template <class T> constexpr optional<std::decay_t<T>> make_optional(T&& value) {
    return optional<std::decay_t<T>>(static_cast<T&&>(value));
}

struct Half;
struct BFloat16;

enum class ScalarType : int8_t {
    Byte = 0, Char = 1, Short = 2, Int = 3, Long = 4, Half = 5, Float = 6, Double = 7, Bool = 11, BFloat16 = 15,
    Float8_e5m2 = 23, Float8_e4m3fn = 24, UInt16 = 27, UInt32 = 28, UInt64 = 29, Undefined = 45
};
constexpr ScalarType kByte = ScalarType::Byte, kUInt8 = kByte, kChar = ScalarType::Char, kInt8 = kChar,
    kShort = ScalarType::Short, kInt16 = kShort, kInt = ScalarType::Int, kInt32 = kInt,
    kLong = ScalarType::Long, kInt64 = kLong, kHalf = ScalarType::Half, kFloat16 = kHalf,
    kFloat = ScalarType::Float, kFloat32 = kFloat, kDouble = ScalarType::Double, kFloat64 = kDouble,
    kBool = ScalarType::Bool, kBFloat16 = ScalarType::BFloat16, kUInt16 = ScalarType::UInt16,
    kUInt32 = ScalarType::UInt32, kUInt64 = ScalarType::UInt64;

const char* toString(ScalarType type);
size_t elementSize(ScalarType type);
inline bool isFloatingType(ScalarType t) { return t == kHalf || t == kFloat || t == kDouble || t == kBFloat16; }
inline bool isIntegralType(ScalarType t, bool with_bool = false) {
    return int(t) <= 4 || (int(t) >= 27 && int(t) <= 29) || (with_bool && t == kBool);
}

template <class T> struct CppTypeToScalarType;
#define CF_SCALAR_TYPE(type, name) \
    template <> struct CppTypeToScalarType<type> { static constexpr ScalarType value = name; };
CF_SCALAR_TYPE(uint8_t, kByte) CF_SCALAR_TYPE(int8_t, kChar) CF_SCALAR_TYPE(int16_t, kShort)
CF_SCALAR_TYPE(int, kInt) CF_SCALAR_TYPE(long, kLong) CF_SCALAR_TYPE(long long, kLong)
CF_SCALAR_TYPE(float, kFloat) CF_SCALAR_TYPE(double, kDouble) CF_SCALAR_TYPE(bool, kBool)
CF_SCALAR_TYPE(Half, kHalf) CF_SCALAR_TYPE(BFloat16, kBFloat16) CF_SCALAR_TYPE(uint16_t, kUInt16)
CF_SCALAR_TYPE(uint32_t, kUInt32) CF_SCALAR_TYPE(unsigned long, kUInt64)
#undef CF_SCALAR_TYPE

// What Tensor::dtype() and Tensor::type() give: compares with scalar types and turns into one.
class TypeMeta {
public:
    TypeMeta(ScalarType type = kFloat) : type_(type) {}
    operator ScalarType() const { return type_; }
    ScalarType toScalarType() const { return type_; }
    ScalarType scalarType() const { return type_; }
    const char* name() const { return toString(type_); }
    size_t itemsize() const { return elementSize(type_); }
    friend bool operator==(TypeMeta a, TypeMeta b) { return a.type_ == b.type_; }
    friend bool operator!=(TypeMeta a, TypeMeta b) { return a.type_ != b.type_; }
    friend bool operator==(TypeMeta a, ScalarType b) { return a.type_ == b; }
    friend bool operator!=(TypeMeta a, ScalarType b) { return a.type_ != b; }
    friend bool operator==(ScalarType a, TypeMeta b) { return a == b.type_; }
    friend bool operator!=(ScalarType a, TypeMeta b) { return a != b.type_; }
private:
    ScalarType type_;
};

enum class DeviceType : int8_t { CPU = 0, CUDA = 1 };
constexpr DeviceType kCPU = DeviceType::CPU, kCUDA = DeviceType::CUDA;
using DeviceIndex = int8_t;

struct Device {
    using Type = DeviceType;
    Device(DeviceType type, int index = -1) : type_(type), index_(DeviceIndex(index)) {}
    Device(const std::string& text);
    Device(const char* text) : Device(std::string(text)) {}
    DeviceType type() const { return type_; }
    DeviceIndex index() const { return index_; }
    bool has_index() const { return index_ >= 0; }
    bool is_cuda() const { return type_ == kCUDA; }
    bool is_cpu() const { return type_ == kCPU; }
    std::string str() const;
    bool operator==(const Device& other) const { return type_ == other.type_ && index_ == other.index_; }
    bool operator!=(const Device& other) const { return !(*this == other); }
private:
    DeviceType type_;
    DeviceIndex index_;
};

enum class Layout : int8_t { Strided };
constexpr Layout kStrided = Layout::Strided;
enum class MemoryFormat : int8_t { Contiguous, Preserve, ChannelsLast, ChannelsLast3d };

template <class T> class ArrayRef {
public:
    using value_type = T;
    using iterator = const T*;
    using const_iterator = const T*;
    constexpr ArrayRef() : data_(nullptr), size_(0) {}
    constexpr ArrayRef(const T& one) : data_(&one), size_(1) {}
    constexpr ArrayRef(const T* data, size_t size) : data_(data), size_(size) {}
    constexpr ArrayRef(const T* begin, const T* end) : data_(begin), size_(end - begin) {}
    ArrayRef(const std::vector<T>& list) : data_(list.data()), size_(list.size()) {}
    ArrayRef(const std::initializer_list<T>& list) : data_(nullptr), size_(list.size()) { data_ = list.begin(); }
    template <size_t N> constexpr ArrayRef(const T (&list)[N]) : data_(list), size_(N) {}
    template <class A, class = decltype(std::tuple_size<A>::value)>
    constexpr ArrayRef(const A& array) : data_(array.data()), size_(array.size()) {}
    constexpr const T* begin() const { return data_; }
    constexpr const T* end() const { return data_ + size_; }
    constexpr const T* data() const { return data_; }
    constexpr size_t size() const { return size_; }
    constexpr bool empty() const { return size_ == 0; }
    constexpr const T& operator[](size_t index) const { return data_[index]; }
    const T& at(size_t index) const {
        if (index >= size_) throw std::out_of_range("ArrayRef: index out of range");
        return data_[index];
    }
    constexpr const T& front() const { return data_[0]; }
    constexpr const T& back() const { return data_[size_ - 1]; }
    constexpr ArrayRef slice(size_t from) const { return ArrayRef(data_ + from, size_ - from); }
    constexpr ArrayRef slice(size_t from, size_t count) const { return ArrayRef(data_ + from, count); }
    std::vector<T> vec() const { return std::vector<T>(begin(), end()); }
    bool equals(ArrayRef other) const {
        if (size_ != other.size_) return false;
        for (size_t i = 0; i < size_; ++i) if (!(data_[i] == other.data_[i])) return false;
        return true;
    }
    friend bool operator==(ArrayRef a, ArrayRef b) { return a.equals(b); }
    friend bool operator!=(ArrayRef a, ArrayRef b) { return !a.equals(b); }
private:
    const T* data_;
    size_t size_;
};
using IntArrayRef = ArrayRef<int64_t>;

// A number whose kind is known when the program runs.
class Scalar {
public:
    Scalar() : Scalar(int64_t(0)) {}
    Scalar(bool value) : tag_(cf::kBool), integer_(value), real_(value) {}
    Scalar(float value) : Scalar(double(value)) {}
    Scalar(double value) : tag_(cf::kDouble), integer_(int64_t(value)), real_(value) {}
#define CF_FROM(type) Scalar(type value) : tag_(cf::kInt), integer_(int64_t(value)), real_(double(value)) {}
    CF_FROM(int) CF_FROM(long) CF_FROM(long long) CF_FROM(unsigned) CF_FROM(unsigned long) CF_FROM(unsigned char)
    CF_FROM(signed char) CF_FROM(short)
#undef CF_FROM
    template <class T> T to() const { return tag_ == cf::kDouble ? static_cast<T>(real_) : static_cast<T>(integer_); }
    double toDouble() const { return to<double>(); }
    float toFloat() const { return to<float>(); }
    int64_t toLong() const { return to<int64_t>(); }
    int toInt() const { return to<int>(); }
    bool toBool() const { return to<bool>(); }
    bool isFloatingPoint() const { return tag_ == cf::kDouble; }
    bool isIntegral(bool with_bool = false) const { return tag_ == cf::kInt || (with_bool && tag_ == cf::kBool); }
    int32_t tag() const { return tag_; }
private:
    int32_t tag_;
    int64_t integer_;
    double real_;
};

class TensorOptions {
public:
    TensorOptions() = default;
    TensorOptions(ScalarType type) : type_(type) {}
    TensorOptions(TypeMeta type) : type_(type) {}
    TensorOptions(Device device) : device_(device) {}
    TensorOptions(DeviceType type) : device_(Device(type)) {}
    TensorOptions(Layout) {}
    TensorOptions dtype(optional<ScalarType> t) const { auto o = *this; if (t) o.type_ = *t; return o; }
    TensorOptions dtype(ScalarType t) const { auto o = *this; o.type_ = t; return o; }
    TensorOptions dtype(TypeMeta t) const { return dtype(ScalarType(t)); }
    template <class T> TensorOptions dtype() const { return dtype(CppTypeToScalarType<T>::value); }
    TensorOptions device(Device d) const { auto o = *this; o.device_ = d; return o; }
    TensorOptions device(DeviceType type, int index = -1) const { return device(Device(type, index)); }
    TensorOptions device(optional<Device> d) const { return d ? device(*d) : *this; }
    TensorOptions device_index(int index) const { return device(Device(kCUDA, index)); }
    TensorOptions layout(Layout) const { return *this; }
    TensorOptions requires_grad(bool) const { return *this; }
    TensorOptions pinned_memory(bool pinned) const { auto o = *this; o.pinned_ = pinned; return o; }
    TensorOptions memory_format(MemoryFormat format) const { auto o = *this; o.format_ = format; return o; }
    Device device() const { return device_; }
    TypeMeta dtype() const { return type_; }
    Layout layout() const { return kStrided; }
    bool pinned_memory() const { return pinned_; }
    bool requires_grad() const { return false; }
    MemoryFormat memory_format() const { return format_; }
private:
    ScalarType type_ = kFloat;
    Device device_ = Device(kCPU);
    bool pinned_ = false;
    MemoryFormat format_ = MemoryFormat::Contiguous;
};

inline TensorOptions dtype(ScalarType type) { return TensorOptions(type); }
inline TensorOptions dtype(TypeMeta type) { return TensorOptions(type); }
template <class T> inline TensorOptions dtype() { return TensorOptions(CppTypeToScalarType<T>::value); }
inline TensorOptions device(Device device) { return TensorOptions(device); }
inline TensorOptions layout(Layout) { return TensorOptions(); }
inline TensorOptions requires_grad(bool = true) { return TensorOptions(); }

}  // namespace c10
