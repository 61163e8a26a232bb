#include <torch/extension.h>
#include <c10/cuda/CUDAGuard.h>
template <typename scalar_t>
__global__ void add_kernel(torch::PackedTensorAccessor32<scalar_t, 2, torch::RestrictPtrTraits> x, scalar_t value) {
    int i = blockIdx.x, j = threadIdx.x;
    if (i < x.size(0) && j < x.size(1)) x[i][j] = x[i][j] + value * scalar_t(2);
}
torch::Tensor forward(torch::Tensor x, double value) {
    const at::cuda::OptionalCUDAGuard guard(device_of(x));
    if (x.is_cuda())
        AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "add", ([&] {
            add_kernel<scalar_t><<<x.size(0), x.size(1)>>>(x.packed_accessor32<scalar_t, 2, torch::RestrictPtrTraits>(), scalar_t(value));
        }));
    std::sort((char*)nullptr, (char*)nullptr);
    at::Half h = static_cast<at::Half>(1.5f);
    std::cout << "";
    return x + static_cast<float>(h + h);
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
