// Making tensors.
#pragma once

namespace at {

Tensor empty(IntArrayRef size, const TensorOptions& options = {}, std::optional<MemoryFormat> format = {});
Tensor zeros(IntArrayRef size, const TensorOptions& options = {});
Tensor ones(IntArrayRef size, const TensorOptions& options = {});
Tensor rand(IntArrayRef size, const TensorOptions& options = {});
Tensor randn(IntArrayRef size, const TensorOptions& options = {});
Tensor full(IntArrayRef size, const Scalar& value, const TensorOptions& options = {});
Tensor empty_strided(IntArrayRef size, IntArrayRef stride, const TensorOptions& options = {});
Tensor arange(const Scalar& start, const Scalar& end, const Scalar& step, const TensorOptions& options);
inline Tensor arange(const Scalar& start, const Scalar& end, const TensorOptions& o) { return arange(start, end, 1, o); }
inline Tensor arange(const Scalar& end, const TensorOptions& o) { return arange(0, end, 1, o); }
inline Tensor arange(const Scalar& end) { return arange(end, TensorOptions(end.isFloatingPoint() ? kFloat : kLong)); }
Tensor eye(int64_t n, const TensorOptions& options = {});
Tensor empty_like(const Tensor& x);
Tensor zeros_like(const Tensor& x);
Tensor empty_like(const Tensor& x, const TensorOptions& options);
Tensor zeros_like(const Tensor& x, const TensorOptions& options);
Tensor ones_like(const Tensor& x, const TensorOptions& options);
inline Tensor ones_like(const Tensor& x) { return ones_like(x, x.options()); }
inline Tensor full_like(const Tensor& x, const Scalar& value) { return cf::call("full_like", {x, value}); }
inline Tensor rand_like(const Tensor& x) { return cf::call("rand_like", {x}); }
inline Tensor randn_like(const Tensor& x) { return cf::call("randn_like", {x}); }
Tensor from_blob(void* data, IntArrayRef size, IntArrayRef stride, const TensorOptions& options = {});
Tensor from_blob(void* data, IntArrayRef size, const TensorOptions& options = {});
inline Tensor scalar_tensor(const Scalar& value, const TensorOptions& o = {}) { return full({}, value, o); }

template <class T> Tensor tensor(ArrayRef<T> values, const TensorOptions& o) {
    std::vector<T> copy = values.vec();
    return from_blob(copy.data(), int64_t(copy.size()), CppTypeToScalarType<T>::value).clone().to(o);
}
template <class T> Tensor tensor(ArrayRef<T> values) { return tensor(values, CppTypeToScalarType<T>::value); }
template <class T> Tensor tensor(const std::vector<T>& v, const TensorOptions& o) { return tensor(ArrayRef<T>(v), o); }
template <class T> Tensor tensor(const std::vector<T>& v) { return tensor(ArrayRef<T>(v)); }
template <class T> Tensor tensor(std::initializer_list<T> v, const TensorOptions& o) { return tensor(ArrayRef<T>(v), o); }
template <class T> Tensor tensor(std::initializer_list<T> v) { return tensor(ArrayRef<T>(v)); }

}  // namespace at
