// Element access by index, on the host and in kernels.
#pragma once
#include "cf_types.h"

namespace at {

template <class T> struct DefaultPtrTraits { typedef T* PtrType; };
template <class T> struct RestrictPtrTraits { typedef T* __restrict__ PtrType; };

template <class T, size_t N, template <class> class Traits = DefaultPtrTraits, class Index = int64_t>
class TensorAccessor {
public:
    __host__ __device__ TensorAccessor(typename Traits<T>::PtrType data, const Index* sizes, const Index* strides)
        : data_(data), sizes_(sizes), strides_(strides) {}
    __host__ __device__ auto operator[](Index i) const {
        return TensorAccessor<T, N - 1, Traits, Index>(data_ + strides_[0] * i, sizes_ + 1, strides_ + 1);
    }
    __host__ __device__ Index size(int i) const { return sizes_[i]; }
    __host__ __device__ Index stride(int i) const { return strides_[i]; }
    __host__ __device__ typename Traits<T>::PtrType data() const { return data_; }
private:
    typename Traits<T>::PtrType data_;
    const Index* sizes_;
    const Index* strides_;
};

template <class T, template <class> class Traits, class Index> class TensorAccessor<T, 1, Traits, Index> {
public:
    __host__ __device__ TensorAccessor(typename Traits<T>::PtrType data, const Index* sizes, const Index* strides)
        : data_(data), size_(sizes[0]), stride_(strides[0]) {}
    __host__ __device__ T& operator[](Index i) const { return data_[stride_ * i]; }
    __host__ __device__ Index size(int) const { return size_; }
    __host__ __device__ Index stride(int) const { return stride_; }
    __host__ __device__ typename Traits<T>::PtrType data() const { return data_; }
private:
    typename Traits<T>::PtrType data_;
    Index size_, stride_;
};

// Carries its sizes with it, so that it can be a kernel's argument.
template <class T, size_t N, template <class> class Traits, class Index> class GenericPackedTensorAccessor {
public:
    GenericPackedTensorAccessor(typename Traits<T>::PtrType data, const int64_t* sizes, const int64_t* strides)
        : data_(data) {
        for (size_t i = 0; i < N; ++i) { sizes_[i] = Index(sizes[i]); strides_[i] = Index(strides[i]); }
    }
    __host__ __device__ decltype(auto) operator[](Index i) const {
        if constexpr (N == 1) return static_cast<T&>(data_[strides_[0] * i]);
        else return TensorAccessor<T, N - 1, Traits, Index>(data_ + strides_[0] * i, sizes_ + 1, strides_ + 1);
    }
    __host__ __device__ Index size(int i) const { return sizes_[i]; }
    __host__ __device__ Index stride(int i) const { return strides_[i]; }
    __host__ __device__ typename Traits<T>::PtrType data() const { return data_; }
private:
    typename Traits<T>::PtrType data_;
    Index sizes_[N], strides_[N];
};
template <class T, size_t N, template <class> class Traits = DefaultPtrTraits>
using PackedTensorAccessor32 = GenericPackedTensorAccessor<T, N, Traits, int32_t>;
template <class T, size_t N, template <class> class Traits = DefaultPtrTraits>
using PackedTensorAccessor64 = GenericPackedTensorAccessor<T, N, Traits, int64_t>;
template <class T, size_t N, template <class> class Traits = DefaultPtrTraits>
using PackedTensorAccessor = PackedTensorAccessor64<T, N, Traits>;

}  // namespace at
