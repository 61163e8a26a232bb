// What crosses between an extension and the process that loaded it; abi.py mirrors it field by field.
// Plain C structures only: the two sides share no allocator and no exception.
#pragma once
#include <cstdint>

namespace cf {

constexpr int32_t kAbiVersion = 1;
constexpr int kMaxDims = 16;
constexpr int kErrorBytes = 4096;

enum Tag : int32_t {
    kNone, kTensor, kInt, kDouble, kBool, kString, kIntList, kDoubleList, kTensorList,
    kDType, kDevice, kMemoryFormat, kValueList
};

struct TensorRecord {
    void* data;
    int64_t owner;  // one reference to the host's tensor; 0 when it was taken over or never was
    int64_t sizes[kMaxDims];
    int64_t strides[kMaxDims];
    int32_t dims, dtype, device_type, device_index;
};

struct RawValue {
    int32_t tag, count;
    const char* keyword;
    int64_t integer;
    double real;
    const void* pointer;
};

struct Answer {
    TensorRecord* tensors;
    int32_t capacity, count;
    RawValue scalar;
    char error[kErrorBytes];
};

struct Host {
    int32_t abi_version;
    int32_t (*call_op)(const char* name, const RawValue* arguments, int32_t count, Answer* answer);
    void* (*current_stream)(int32_t device_index);
    void (*release)(int64_t owner);
    // Optional shortcuts past the host's interpreter; each answers 0 when it worked.
    int32_t (*native_empty)(int64_t dims, const int64_t* sizes, const int64_t* strides, int32_t dtype,
                            int32_t device_type, int32_t device_index, void** owner);
    int32_t (*native_release)(void* owner);
    int32_t (*native_data_pointer)(void* owner, void** data);
    int32_t (*native_zero)(void* owner);
};

struct Call {
    const char* function;
    const RawValue* arguments;
    int32_t count;
    RawValue result;
    void* keep_alive;
    char error[kErrorBytes];
};

extern Host host;  // one in every shared object: the linker keeps it local

}  // namespace cf
