// Streams, devices and checks of the CUDA runtime, under the names that torch gives them.
#pragma once
#include <cuda_runtime.h>

#include "cf_tensor.h"

namespace cf {
void check_cuda(int status);
}
#define C10_CUDA_CHECK(expression) ::cf::check_cuda(expression)
#define AT_CUDA_CHECK(expression) C10_CUDA_CHECK(expression)
#define C10_CUDA_CHECK_WARN(expression) (void)(expression)
#define C10_CUDA_IGNORE_ERROR(expression) (void)(expression)
#define C10_CUDA_KERNEL_LAUNCH_CHECK() C10_CUDA_CHECK(cudaGetLastError())
#define TORCH_CUDA_CHECK(expression) C10_CUDA_CHECK(expression)

namespace c10 {

namespace cuda {

DeviceIndex current_device();
DeviceIndex device_count();
inline void set_device(int index) { C10_CUDA_CHECK(cudaSetDevice(index)); }
inline void device_synchronize() { C10_CUDA_CHECK(cudaDeviceSynchronize()); }

class CUDAStream {
public:
    explicit CUDAStream(cudaStream_t stream, int device = -1) : stream_(stream), device_(device) {}
    cudaStream_t stream() const { return stream_; }
    operator cudaStream_t() const { return stream_; }
    void synchronize() const { C10_CUDA_CHECK(cudaStreamSynchronize(stream_)); }
    bool query() const { return cudaStreamQuery(stream_) == cudaSuccess; }
    DeviceIndex device_index() const { return device_ < 0 ? current_device() : DeviceIndex(device_); }
    Device device() const { return Device(kCUDA, device_index()); }
    int64_t id() const { return reinterpret_cast<int64_t>(stream_); }
    bool operator==(const CUDAStream& other) const { return stream_ == other.stream_; }
    bool operator!=(const CUDAStream& other) const { return stream_ != other.stream_; }
private:
    cudaStream_t stream_;
    int device_;
};

CUDAStream getCurrentCUDAStream(int device = -1);
inline CUDAStream getDefaultCUDAStream(int device = -1) { return CUDAStream(nullptr, device); }
CUDAStream getStreamFromPool(bool high_priority = false, int device = -1);
inline CUDAStream getStreamFromExternal(cudaStream_t stream, int device) { return CUDAStream(stream, device); }
void setCurrentCUDAStream(CUDAStream stream);

class CUDAGuard {
public:
    explicit CUDAGuard(int index) { enter(index); }
    explicit CUDAGuard(Device device) { enter(device.index()); }
    CUDAGuard(const CUDAGuard&) = delete;
    CUDAGuard& operator=(const CUDAGuard&) = delete;
    ~CUDAGuard() { if (before_ >= 0) (void)cudaSetDevice(before_); }
    void set_index(int index) { set_device(index); }
    Device current_device() const { return Device(kCUDA, cuda::current_device()); }
    Device original_device() const { return Device(kCUDA, before_); }
protected:
    CUDAGuard() = default;
    void enter(int index);
    int before_ = -1;
};
class OptionalCUDAGuard : public CUDAGuard {
public:
    OptionalCUDAGuard() = default;
    explicit OptionalCUDAGuard(std::optional<Device> device) { if (device && device->is_cuda()) enter(device->index()); }
};
class CUDAStreamGuard {
public:
    explicit CUDAStreamGuard(CUDAStream stream);
    CUDAStreamGuard(const CUDAStreamGuard&) = delete;
    CUDAStreamGuard& operator=(const CUDAStreamGuard&) = delete;
    ~CUDAStreamGuard();
    CUDAStream original_stream() const { return before_; }
    CUDAStream current_stream() const { return now_; }
private:
    CUDAStream before_, now_;
};

}  // namespace cuda

using DeviceGuard = cuda::OptionalCUDAGuard;
using OptionalDeviceGuard = cuda::OptionalCUDAGuard;

}  // namespace c10

namespace at {

inline std::optional<Device> device_of(const Tensor& tensor) {
    return tensor.defined() ? std::optional<Device>(tensor.device()) : std::nullopt;
}

namespace cuda {
using namespace c10::cuda;
cudaDeviceProp* getDeviceProperties(int device);
inline cudaDeviceProp* getCurrentDeviceProperties() { return getDeviceProperties(current_device()); }
inline int warp_size() { return 32; }
template <class N> constexpr N ATenCeilDiv(N a, N b) { return (a + b - 1) / b; }
}  // namespace cuda
template <class N> constexpr N ceil_div(N a, N b) { return (a + b - 1) / b; }

}  // namespace at
