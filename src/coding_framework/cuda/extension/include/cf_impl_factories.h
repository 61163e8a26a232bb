// Part of cf_runtime.cu: making tensors, by the library's allocator directly where the host offers it.
#pragma once

namespace at {

// An uninitialised row-major tensor, or an undefined one where there is no direct way.
static Tensor native_empty(IntArrayRef sizes, const TensorOptions& o) {
    if (!cf::host.native_empty || o.pinned_memory() || sizes.size() > size_t(cf::kMaxDims)) return {};
    if (o.memory_format() != MemoryFormat::Contiguous) return {};
    cf::TensorRecord record;
    record.dims = int32_t(sizes.size());
    int64_t step = 1;
    for (int i = record.dims - 1; i >= 0; --i) {
        if (sizes[i] < 0) return {};  // the library says it better
        record.sizes[i] = sizes[i];
        record.strides[i] = step;
        step *= sizes[i] > 1 ? sizes[i] : 1;
    }
    record.dtype = int32_t(o.dtype().toScalarType());
    record.device_type = int32_t(o.device().type());
    record.device_index = o.device().index();
    if (o.device().is_cuda() && record.device_index < 0 && cudaGetDevice(&record.device_index) != cudaSuccess) return {};
    void* owner = nullptr;
    if (cf::host.native_empty(record.dims, record.sizes, record.strides, record.dtype, record.device_type,
                              record.device_index, &owner) != 0) return {};
    record.owner = reinterpret_cast<int64_t>(owner);
    const bool found = cf::host.native_data_pointer(owner, &record.data) == 0;
    Tensor tensor = Tensor::adopt(record);
    return found ? tensor : Tensor();
}

static Tensor make(const char* name, IntArrayRef size, const TensorOptions& o) {
    return cf::call(name, {size, cf::key("dtype", ScalarType(o.dtype())), cf::key("device", o.device()),
                           cf::key("pin_memory", o.pinned_memory()), cf::key("memory_format", o.memory_format())});
}

Tensor empty(IntArrayRef size, const TensorOptions& options, std::optional<MemoryFormat> format) {
    const TensorOptions all = format ? options.memory_format(*format) : options;
    Tensor quick = native_empty(size, all);
    return quick.defined() ? quick : make("empty", size, all);
}
Tensor zeros(IntArrayRef size, const TensorOptions& options) {
    Tensor quick = cf::host.native_zero ? native_empty(size, options) : Tensor();
    if (quick.defined() && cf::host.native_zero(reinterpret_cast<void*>(quick.owner())) == 0) return quick;
    return make("zeros", size, options);
}
Tensor ones(IntArrayRef size, const TensorOptions& options) { return make("ones", size, options); }
Tensor rand(IntArrayRef size, const TensorOptions& options) { return make("rand", size, options); }
Tensor randn(IntArrayRef size, const TensorOptions& options) { return make("randn", size, options); }
Tensor full(IntArrayRef size, const Scalar& value, const TensorOptions& o) {
    return cf::call("full", {size, value, cf::key("dtype", ScalarType(o.dtype())), cf::key("device", o.device())});
}
Tensor empty_strided(IntArrayRef size, IntArrayRef stride, const TensorOptions& o) {
    return cf::call("empty_strided", {size, stride, cf::key("dtype", ScalarType(o.dtype())), cf::key("device", o.device())});
}
Tensor arange(const Scalar& start, const Scalar& end, const Scalar& step, const TensorOptions& o) {
    return cf::call("arange", {start, end, step, cf::key("dtype", ScalarType(o.dtype())), cf::key("device", o.device())});
}
Tensor eye(int64_t n, const TensorOptions& o) {
    return cf::call("eye", {n, cf::key("dtype", ScalarType(o.dtype())), cf::key("device", o.device())});
}

// The library keeps the layout of x: row-major only when x itself is.
Tensor empty_like(const Tensor& x) { return x.is_contiguous() ? empty(x.sizes(), x.options()) : cf::call("empty_like", {x}); }
Tensor zeros_like(const Tensor& x) { return x.is_contiguous() ? zeros(x.sizes(), x.options()) : cf::call("zeros_like", {x}); }
#define CF_LIKE(name)                                                                                     \
    Tensor name(const Tensor& x, const TensorOptions& o) {                                                \
        return cf::call(#name, {x, cf::key("dtype", ScalarType(o.dtype())), cf::key("device", o.device())}); \
    }
CF_LIKE(empty_like) CF_LIKE(zeros_like) CF_LIKE(ones_like)
#undef CF_LIKE

Tensor from_blob(void* data, IntArrayRef size, IntArrayRef stride, const TensorOptions& o) {
    return cf::call("from_blob", {reinterpret_cast<int64_t>(data), size, stride, ScalarType(o.dtype()), o.device()});
}
Tensor from_blob(void* data, IntArrayRef size, const TensorOptions& o) {
    return cf::call("from_blob", {reinterpret_cast<int64_t>(data), size, std::nullopt, ScalarType(o.dtype()), o.device()});
}

}  // namespace at
