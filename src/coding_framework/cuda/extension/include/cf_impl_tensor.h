// Part of cf_runtime.cu: tensors, and how an operation reaches the host and its answer comes back.
#pragma once

namespace cf {

Value::Value(const at::Tensor& tensor) : Value(tensor.defined() ? kTensor : kNone, tensor.owner()) {}
Value::Value(at::TensorList list) : Value(kTensorList) { pointer = list.data(); count = int32_t(list.size()); }
Value::Value(const std::vector<at::Tensor>& list) : Value(at::TensorList(list)) {}

void destroy(Shared* shared) {
    if (host.native_release) host.native_release(reinterpret_cast<void*>(shared->record.owner));
    else host.release(shared->record.owner);
    delete shared;
}

static void run(const char* name, Arguments arguments, TensorRecord* records, int capacity, Answer& answer) {
    static_assert(sizeof(Value) == sizeof(RawValue), "a list of values is passed as a list of raw ones");
    answer.tensors = records;
    answer.capacity = capacity;
    answer.count = 0;
    answer.scalar.tag = kNone;
    answer.error[0] = 0;
    if (host.call_op(name, arguments.begin(), int32_t(arguments.size()), &answer) == 0) return;
    for (int i = 0; i < answer.count; ++i) at::Tensor::adopt(records[i]);  // given back
    fail(answer.error);
}

at::Tensor call(const char* name, Arguments arguments) {
    TensorRecord record;
    Answer answer;
    run(name, arguments, &record, 1, answer);
    if (answer.count != 1) fail(text(name, " gave no tensor"));
    return at::Tensor::adopt(record);
}

std::vector<at::Tensor> call_many(const char* name, Arguments arguments) {
    constexpr int kMost = 256;
    std::vector<TensorRecord> records(kMost);
    Answer answer;
    run(name, arguments, records.data(), kMost, answer);
    std::vector<at::Tensor> result;
    for (int i = 0; i < answer.count; ++i) result.push_back(at::Tensor::adopt(records[i]));
    return result;
}

static std::tuple<at::Tensor, at::Tensor> call_pair(const char* name, Arguments arguments) {
    std::vector<at::Tensor> both = call_many(name, arguments);
    return {both.at(0), both.at(1)};
}

c10::Scalar call_scalar(const char* name, Arguments arguments) {
    Answer answer;
    run(name, arguments, nullptr, 0, answer);
    switch (answer.scalar.tag) {
        case kInt: return c10::Scalar(answer.scalar.integer);
        case kBool: return c10::Scalar(answer.scalar.integer != 0);
        case kDouble: return c10::Scalar(answer.scalar.real);
        default: fail(text(name, " gave no number"));
    }
}

}  // namespace cf

namespace at {

Tensor Tensor::adopt(cf::TensorRecord& record) {
    Tensor tensor;
    if (record.owner) tensor.shared_ = new cf::Shared{record, 1};
    record.owner = 0;
    return tensor;
}
const cf::TensorRecord& Tensor::record() const {
    if (!shared_) cf::fail("the tensor is undefined");
    return shared_->record;
}
int Tensor::wrap(int64_t d) const {
    const int64_t dims = record().dims;
    if (d < -dims || d >= dims)
        cf::fail_index(cf::text("Dimension out of range (expected to be in range of [", -dims, ", ", dims - 1, "], but got ", d, ")"));
    return int(d < 0 ? d + dims : d);
}
int64_t Tensor::size(int64_t d) const { return record().sizes[wrap(d)]; }
int64_t Tensor::stride(int64_t d) const { return record().strides[wrap(d)]; }
int64_t Tensor::numel() const {
    int64_t n = 1;
    for (int i = 0; i < record().dims; ++i) n *= record().sizes[i];
    return n;
}
void Tensor::check_type(ScalarType wanted) const {
    if (scalar_type() != wanted) cf::fail(cf::text("expected scalar type ", wanted, " but found ", scalar_type()));
}
void Tensor::check_dims(size_t n) const {
    CF_CHECK(dim() == int64_t(n), "TensorAccessor expected ", n, " dims but tensor has ", dim());
}
void Tensor::check_small() const {
    CF_CHECK(numel() <= 0x7fffffff, "numel needs to be smaller than 2**31 for a 32-bit accessor");
}
bool Tensor::is_contiguous(MemoryFormat format) const {
    if (format != MemoryFormat::Contiguous) return cf::call_scalar("is_contiguous", {*this, format}).toBool();
    if (numel() == 0) return true;
    int64_t expected = 1;
    for (int i = record().dims - 1; i >= 0; --i) {
        if (record().sizes[i] != 1 && record().strides[i] != expected) return false;
        expected *= record().sizes[i];
    }
    return true;
}
bool Tensor::is_pinned() const { return cf::call_scalar("is_pinned", {*this}).toBool(); }
bool Tensor::requires_grad() const { return cf::call_scalar("requires_grad", {*this}).toBool(); }
int64_t Tensor::storage_offset() const { return cf::call_scalar("storage_offset", {*this}).toLong(); }
Scalar Tensor::item() const { return cf::call_scalar("item", {*this}); }
Tensor Tensor::operator[](int64_t index) const { return select(0, index); }
Tensor Tensor::operator-() const { return neg(); }
Tensor Tensor::contiguous(MemoryFormat format) const {
    if (format == MemoryFormat::Contiguous && is_contiguous()) return *this;
    return cf::call("contiguous", {*this, cf::key("memory_format", format)});
}
Tensor Tensor::to(ScalarType type, bool non_blocking, bool copy) const {
    return type == scalar_type() && !copy ? *this : cf::call("to", {*this, type, non_blocking, copy});
}
Tensor Tensor::to(Device device, bool non_blocking, bool copy) const { return to(device, scalar_type(), non_blocking, copy); }
Tensor Tensor::to(Device device, ScalarType type, bool non_blocking, bool copy) const {
    return cf::call("to", {*this, device, type, non_blocking, copy});
}
Tensor Tensor::to(const TensorOptions& o, bool non_blocking, bool copy) const {
    return to(o.device(), ScalarType(o.dtype()), non_blocking, copy);
}
Tensor Tensor::view(ScalarType t) const { return cf::call("view", {*this, t}); }
using Pair = Tensor::Pair;
Pair Tensor::max(int64_t dim, bool keepdim) const { return cf::call_pair("max", {*this, dim, keepdim}); }
Pair Tensor::min(int64_t dim, bool keepdim) const { return cf::call_pair("min", {*this, dim, keepdim}); }
Pair Tensor::sort(int64_t dim, bool descending) const { return cf::call_pair("sort", {*this, dim, descending}); }
Pair Tensor::topk(int64_t k, int64_t dim, bool largest, bool sorted) const {
    return cf::call_pair("topk", {*this, k, dim, largest, sorted});
}
std::vector<Tensor> Tensor::chunk(int64_t n, int64_t dim) const { return cf::call_many("chunk", {*this, n, dim}); }
std::vector<Tensor> Tensor::split(int64_t size, int64_t dim) const { return cf::call_many("split", {*this, size, dim}); }
std::vector<Tensor> Tensor::unbind(int64_t dim) const { return cf::call_many("unbind", {*this, dim}); }

#define CF_LIST(...) {__VA_ARGS__}
#define CF_METHOD(name, parameters, arguments, defaults) \
    Tensor Tensor::name parameters const { return cf::call(#name, CF_LIST arguments); }
#define CF_INPLACE(name, parameters, arguments, defaults)                                     \
    Tensor& Tensor::name parameters { cf::call(#name, CF_LIST arguments); return *this; }     \
    const Tensor& Tensor::name parameters const { cf::call(#name, CF_LIST arguments); return *this; }
CF_UNARY_METHODS(CF_UNARY)
CF_UNARY_INPLACE_METHODS(CF_UNARY_INPLACE)
CF_METHODS(CF_METHOD)
CF_INPLACE_METHODS(CF_INPLACE)
#undef CF_METHOD
#undef CF_INPLACE

}  // namespace at
