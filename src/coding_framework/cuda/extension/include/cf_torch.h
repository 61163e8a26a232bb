// The light header: what extensions of the archive's kind use of torch, ATen, c10 and pybind11.
// What is not here does not compile against it, and the source is then built with torch's own headers.
#pragma once
#include "cf_cuda.h"
#include "cf_dispatch.h"
#include "cf_half.h"
#include "cf_ops.h"
#include "cf_bind.h"

namespace caffe2 { using c10::TypeMeta; }
namespace at {
struct NoGradGuard { NoGradGuard() {} };
using Half = c10::Half;
using BFloat16 = c10::BFloat16;
}
namespace torch {
using namespace at;
using c10::dtype;
using at::Tensor;
using NoGradGuard = at::NoGradGuard;
struct InferenceMode { explicit InferenceMode(bool = true) {} };
template <class T, size_t N, template <class> class Traits = at::DefaultPtrTraits>
using PackedTensorAccessor32 = at::PackedTensorAccessor32<T, N, Traits>;
template <class T, size_t N, template <class> class Traits = at::DefaultPtrTraits>
using PackedTensorAccessor64 = at::PackedTensorAccessor64<T, N, Traits>;
template <class T> using RestrictPtrTraits = at::RestrictPtrTraits<T>;
namespace cuda {
inline bool is_available() { return c10::cuda::device_count() > 0; }
inline int device_count() { return c10::cuda::device_count(); }
inline void synchronize(int64_t = -1) { c10::cuda::device_synchronize(); }
}
}
#ifndef TORCH_EXTENSION_NAME
#define TORCH_EXTENSION_NAME cf_extension
#endif
