// at::Tensor: a counted reference to {address, sizes, strides, type, device} and the host's own tensor.
// Metadata is read here; whatever makes another tensor is done by the host, which has a real library.
#pragma once
#include "cf_accessor.h"
#include "cf_check.h"

namespace at {

using namespace c10;
class Tensor;
using TensorList = c10::ArrayRef<Tensor>;

}  // namespace at

namespace cf {

struct Shared {
    TensorRecord record;
    int count;
};

// An argument of an operation; converts from everything that operations take.
struct Value : RawValue {
    explicit Value(Tag which) : RawValue{which, 0, nullptr, 0, 0.0, nullptr} {}
    Value(Tag which, int64_t number) : Value(which) { integer = number; }
    Value() : Value(kNone) {}
    Value(std::nullopt_t) : Value(kNone) {}
    Value(const at::Tensor& tensor);
    Value(at::TensorList list);
    Value(const std::vector<at::Tensor>& list);
    Value(bool value) : Value(kBool, value) {}
    Value(int value) : Value(kInt, value) {}
    Value(int64_t value) : Value(kInt, value) {}
    Value(double value) : Value(kDouble) { real = value; }
    Value(const char* text) : Value(kString) { pointer = text; }
    Value(c10::IntArrayRef list) : Value(kIntList) { pointer = list.data(); count = int32_t(list.size()); }
    Value(const c10::Scalar& s) : Value(Tag(s.tag()), s.toLong()) { real = s.toDouble(); }
    Value(c10::ScalarType type) : Value(kDType, int64_t(type)) {}
    Value(c10::Device device) : Value(kDevice, int64_t(device.type())) { count = device.index(); }
    Value(c10::MemoryFormat format) : Value(kMemoryFormat, int64_t(format)) {}
    template <class T> Value(const std::optional<T>& maybe) : Value(maybe ? Value(*maybe) : Value(kNone)) {}
    Value&& as(const char* name) && { keyword = name; return static_cast<Value&&>(*this); }
};
// A keyword argument, for those that the library takes by name alone.
template <class T> Value key(const char* name, const T& value) { return Value(value).as(name); }

using Arguments = std::initializer_list<Value>;
at::Tensor call(const char* name, Arguments arguments);
std::vector<at::Tensor> call_many(const char* name, Arguments arguments);
c10::Scalar call_scalar(const char* name, Arguments arguments);

void destroy(Shared* shared);
inline void release(Shared* shared) {
    if (shared && __atomic_sub_fetch(&shared->count, 1, __ATOMIC_ACQ_REL) == 0) destroy(shared);
}

}  // namespace cf

#include "cf_op_list.h"

namespace at {

class Tensor {
public:
    Tensor() = default;
    Tensor(const Tensor& other) : shared_(other.shared_) { if (shared_) __atomic_add_fetch(&shared_->count, 1, __ATOMIC_RELAXED); }
    Tensor(Tensor&& other) noexcept : shared_(other.shared_) { other.shared_ = nullptr; }
    Tensor& operator=(const Tensor& other) { Tensor copy(other); swap(copy); return *this; }
    Tensor& operator=(Tensor&& other) noexcept { swap(other); return *this; }
    ~Tensor() { cf::release(shared_); }
    // Takes over the record's reference.
    static Tensor adopt(cf::TensorRecord& record);
    void swap(Tensor& other) { cf::Shared* mine = shared_; shared_ = other.shared_; other.shared_ = mine; }
    void reset() { *this = Tensor(); }
    bool defined() const { return shared_ != nullptr; }
    bool is_same(const Tensor& other) const { return shared_ == other.shared_; }
    int64_t owner() const { return shared_ ? shared_->record.owner : 0; }
    int64_t use_count() const { return shared_ ? shared_->count : 0; }

    int64_t dim() const { return record().dims; }
    int64_t ndimension() const { return dim(); }
    IntArrayRef sizes() const { return IntArrayRef(record().sizes, size_t(record().dims)); }
    IntArrayRef strides() const { return IntArrayRef(record().strides, size_t(record().dims)); }
    int64_t size(int64_t d) const;
    int64_t stride(int64_t d) const;
    int64_t numel() const;
    ScalarType scalar_type() const { return ScalarType(record().dtype); }
    TypeMeta dtype() const { return scalar_type(); }
    TypeMeta type() const { return scalar_type(); }
    size_t element_size() const { return elementSize(scalar_type()); }
    size_t itemsize() const { return element_size(); }
    size_t nbytes() const { return size_t(numel()) * element_size(); }
    Device device() const { return Device(DeviceType(record().device_type), record().device_index); }
    int64_t get_device() const { return device().index(); }
    Layout layout() const { return kStrided; }
    bool is_cuda() const { return record().device_type == int(kCUDA); }
    bool is_cpu() const { return record().device_type == int(kCPU); }
    bool is_floating_point() const { return isFloatingType(scalar_type()); }
    bool is_sparse() const { return false; }
    bool is_contiguous(MemoryFormat format = MemoryFormat::Contiguous) const;
    bool is_pinned() const;
    bool requires_grad() const;
    int64_t storage_offset() const;
    TensorOptions options() const { return TensorOptions(scalar_type()).device(device()); }

    void* data_ptr() const { return record().data; }
    const void* const_data_ptr() const { return record().data; }
    void* mutable_data_ptr() const { return record().data; }
    template <class T> T* data_ptr() const {
        constexpr ScalarType wanted = CppTypeToScalarType<std::remove_const_t<T>>::value;
        check_type(wanted);
        return static_cast<T*>(record().data);
    }
    template <class T> const T* const_data_ptr() const { return data_ptr<T>(); }
    template <class T> T* mutable_data_ptr() const { return data_ptr<T>(); }
    template <class T> T* data() const { return data_ptr<T>(); }
    Tensor data() const { return *this; }

    template <class T, size_t N> TensorAccessor<T, N> accessor() const {
        check_dims(N);
        return TensorAccessor<T, N>(data_ptr<T>(), record().sizes, record().strides);
    }
    template <class T, size_t N, template <class> class Traits = DefaultPtrTraits>
    PackedTensorAccessor32<T, N, Traits> packed_accessor32() const {
        check_dims(N);
        check_small();
        return PackedTensorAccessor32<T, N, Traits>(data_ptr<T>(), record().sizes, record().strides);
    }
    template <class T, size_t N, template <class> class Traits = DefaultPtrTraits>
    PackedTensorAccessor64<T, N, Traits> packed_accessor64() const {
        check_dims(N);
        return PackedTensorAccessor64<T, N, Traits>(data_ptr<T>(), record().sizes, record().strides);
    }

    Scalar item() const;
    template <class T> T item() const { return item().to<T>(); }
    Tensor operator[](int64_t index) const;
    Tensor operator-() const;
    Tensor contiguous(MemoryFormat format = MemoryFormat::Contiguous) const;
    Tensor to(ScalarType type, bool non_blocking = false, bool copy = false) const;
    Tensor to(Device device, bool non_blocking = false, bool copy = false) const;
    Tensor to(Device device, ScalarType type, bool non_blocking = false, bool copy = false) const;
    Tensor to(const TensorOptions& options, bool non_blocking = false, bool copy = false) const;
    Tensor to(TypeMeta type) const { return to(ScalarType(type)); }
    Tensor type(ScalarType t) const { return to(t); }
    Tensor toType(ScalarType t) const { return to(t); }
    Tensor cuda() const { return to(Device(kCUDA)); }
    Tensor cpu() const { return to(Device(kCPU)); }
    Tensor view(ScalarType t) const;

#define CF_METHOD(name, parameters, arguments, defaults) Tensor name defaults const;
#define CF_INPLACE(name, parameters, arguments, defaults) Tensor& name defaults; const Tensor& name defaults const;
#define CF_UNARY(name) CF_METHOD(name, (), (*this), ())
#define CF_UNARY_INPLACE(name) CF_INPLACE(name, (), (*this), ())
    CF_UNARY_METHODS(CF_UNARY)
    CF_UNARY_INPLACE_METHODS(CF_UNARY_INPLACE)
    CF_METHODS(CF_METHOD)
    CF_INPLACE_METHODS(CF_INPLACE)
#undef CF_METHOD
#undef CF_INPLACE
    using Pair = std::tuple<Tensor, Tensor>;
    Pair max(int64_t dim, bool keepdim = false) const;
    Pair min(int64_t dim, bool keepdim = false) const;
    Pair sort(int64_t dim = -1, bool descending = false) const;
    Pair topk(int64_t k, int64_t dim = -1, bool largest = true, bool sorted = true) const;
    std::vector<Tensor> chunk(int64_t chunks, int64_t dim = 0) const;
    std::vector<Tensor> split(int64_t size, int64_t dim = 0) const;
    std::vector<Tensor> unbind(int64_t dim = 0) const;
    const cf::TensorRecord& record() const;

private:
    int wrap(int64_t d) const;
    void check_type(ScalarType wanted) const;
    void check_dims(size_t n) const;
    void check_small() const;
    cf::Shared* shared_ = nullptr;
};
static_assert(sizeof(Tensor) == sizeof(void*), "lists of tensors are passed as lists of records");

}  // namespace at
