// Part of cf_runtime.cu: streams and devices.
#pragma once

namespace cf {

void check_cuda(int status) {
    if (status != cudaSuccess) fail(text("CUDA error: ", cudaGetErrorString(cudaError_t(status))));
}

}  // namespace cf

namespace c10 {
namespace cuda {

DeviceIndex current_device() { int index = 0; cf::check_cuda(cudaGetDevice(&index)); return DeviceIndex(index); }
DeviceIndex device_count() { int count = 0; return cudaGetDeviceCount(&count) == cudaSuccess ? DeviceIndex(count) : 0; }
CUDAStream getCurrentCUDAStream(int device) {
    return CUDAStream(static_cast<cudaStream_t>(cf::host.current_stream(device)), device);
}
CUDAStream getStreamFromPool(bool, int device) {
    return CUDAStream(reinterpret_cast<cudaStream_t>(cf::call_scalar("cuda_stream_from_pool", {device}).toLong()), device);
}
void setCurrentCUDAStream(CUDAStream stream) {
    cf::call_scalar("cuda_set_stream", {stream.id(), int(stream.device_index())});
}
void CUDAGuard::enter(int index) {
    if (index < 0) return;
    before_ = cuda::current_device();
    set_device(index);
}
CUDAStreamGuard::CUDAStreamGuard(CUDAStream stream)
    : before_(getCurrentCUDAStream(stream.device_index()).stream(), stream.device_index()), now_(stream) {
    setCurrentCUDAStream(stream);
}
CUDAStreamGuard::~CUDAStreamGuard() {
    try { setCurrentCUDAStream(before_); } catch (...) {}
}

}  // namespace cuda
}  // namespace c10

namespace at {
namespace cuda {

cudaDeviceProp* getDeviceProperties(int device) {
    static cudaDeviceProp known[16];
    static bool filled[16];
    CF_CHECK(device >= 0 && device < 16, "no such device: ", device);
    if (!filled[device]) cf::check_cuda(cudaGetDeviceProperties(&known[device], device));
    filled[device] = true;
    return &known[device];
}

}  // namespace cuda
}  // namespace at
