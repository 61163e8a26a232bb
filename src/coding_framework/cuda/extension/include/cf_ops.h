// The free functions of the namespaces torch and at, over the methods of Tensor.
#pragma once
#include "cf_tensor.h"

namespace at {

#define CF_FREE_UNARY(name) inline Tensor name(const Tensor& x) { return x.name(); }
CF_UNARY_METHODS(CF_FREE_UNARY)
CF_FREE_UNARY(sum) CF_FREE_UNARY(mean) CF_FREE_UNARY(prod) CF_FREE_UNARY(squeeze) CF_FREE_UNARY(clone)
CF_FREE_UNARY(all) CF_FREE_UNARY(any)
#undef CF_FREE_UNARY

#define CF_OPERATORS(sign, name)                                                                     \
    inline Tensor name(const Tensor& a, const Tensor& b) { return a.name(b); }                       \
    inline Tensor name(const Tensor& a, const Scalar& b) { return a.name(b); }                       \
    inline Tensor operator sign(const Tensor& a, const Tensor& b) { return a.name(b); }              \
    inline Tensor operator sign(const Tensor& a, const Scalar& b) { return a.name(b); }
CF_OPERATORS(*, mul) CF_OPERATORS(/, div) CF_OPERATORS(+, add) CF_OPERATORS(-, sub)
CF_OPERATORS(==, eq) CF_OPERATORS(!=, ne) CF_OPERATORS(<, lt) CF_OPERATORS(<=, le) CF_OPERATORS(>, gt)
CF_OPERATORS(>=, ge)
inline Tensor add(const Tensor& a, const Tensor& b, const Scalar& alpha) { return a.add(b, alpha); }
inline Tensor sub(const Tensor& a, const Tensor& b, const Scalar& alpha) { return a.sub(b, alpha); }
inline Tensor operator+(const Scalar& a, const Tensor& b) { return b.add(a); }
inline Tensor operator*(const Scalar& a, const Tensor& b) { return b.mul(a); }
inline Tensor operator-(const Scalar& a, const Tensor& b) { return b.rsub(a); }
inline Tensor operator/(const Scalar& a, const Tensor& b) { return b.reciprocal().mul(a); }
#define CF_ASSIGN(sign, name)                                                                        \
    inline Tensor& operator sign(Tensor& a, const Tensor& b) { return a.name(b); }                   \
    inline Tensor& operator sign(Tensor& a, const Scalar& b) { return a.name(b); }
CF_ASSIGN(+=, add_) CF_ASSIGN(-=, sub_) CF_ASSIGN(*=, mul_) CF_ASSIGN(/=, div_)

#define CF_FREE_BINARY(name) inline Tensor name(const Tensor& a, const Tensor& b) { return a.name(b); }
CF_FREE_BINARY(matmul) CF_FREE_BINARY(mm) CF_FREE_BINARY(bmm) CF_FREE_BINARY(mv) CF_FREE_BINARY(dot)
CF_FREE_BINARY(outer) CF_FREE_BINARY(maximum) CF_FREE_BINARY(minimum) CF_FREE_BINARY(logical_and)
CF_FREE_BINARY(logical_or) CF_FREE_BINARY(pow) CF_FREE_BINARY(atan2)
inline Tensor pow(const Tensor& a, const Scalar& b) { return a.pow(b); }

inline Tensor sum(const Tensor& x, IntArrayRef d, bool keepdim = false, std::optional<ScalarType> t = {}) { return x.sum(d, keepdim, t); }
inline Tensor mean(const Tensor& x, IntArrayRef d, bool keepdim = false, std::optional<ScalarType> t = {}) { return x.mean(d, keepdim, t); }
inline Tensor var(const Tensor& x, IntArrayRef d, bool unbiased = true, bool keepdim = false) { return x.var(d, unbiased, keepdim); }
inline Tensor norm(const Tensor& x, const Scalar& p = 2) { return x.norm(p); }
inline Tensor amax(const Tensor& x, IntArrayRef d = {}, bool keepdim = false) { return x.amax(d, keepdim); }
inline Tensor amin(const Tensor& x, IntArrayRef d = {}, bool keepdim = false) { return x.amin(d, keepdim); }
inline Tensor argmax(const Tensor& x, std::optional<int64_t> d = {}, bool keepdim = false) { return x.argmax(d, keepdim); }
inline Tensor argmin(const Tensor& x, std::optional<int64_t> d = {}, bool keepdim = false) { return x.argmin(d, keepdim); }
inline std::tuple<Tensor, Tensor> max(const Tensor& x, int64_t d, bool keepdim = false) { return x.max(d, keepdim); }
inline std::tuple<Tensor, Tensor> min(const Tensor& x, int64_t d, bool keepdim = false) { return x.min(d, keepdim); }
inline Tensor max(const Tensor& a, const Tensor& b) { return a.maximum(b); }
inline Tensor min(const Tensor& a, const Tensor& b) { return a.minimum(b); }
inline std::tuple<Tensor, Tensor> topk(const Tensor& x, int64_t k, int64_t d = -1, bool largest = true, bool sorted = true) { return x.topk(k, d, largest, sorted); }
inline Tensor softmax(const Tensor& x, int64_t d, std::optional<ScalarType> t = {}) { return x.softmax(d, t); }
inline Tensor log_softmax(const Tensor& x, int64_t d, std::optional<ScalarType> t = {}) { return x.log_softmax(d, t); }
inline Tensor clamp(const Tensor& x, const std::optional<Scalar>& a, const std::optional<Scalar>& b = {}) { return x.clamp(a, b); }
inline Tensor clamp_min(const Tensor& x, const Scalar& a) { return x.clamp_min(a); }
inline Tensor clamp_max(const Tensor& x, const Scalar& a) { return x.clamp_max(a); }
inline Tensor leaky_relu(const Tensor& x, const Scalar& a = 0.01) { return x.leaky_relu(a); }
inline Tensor elu(const Tensor& x, const Scalar& a = 1) { return cf::call("elu", {x, a}); }
inline Tensor gelu(const Tensor& x, const std::string& how = "none") { return cf::call("gelu", {x, cf::key("approximate", how.c_str())}); }
inline Tensor softplus(const Tensor& x, const Scalar& b = 1, const Scalar& limit = 20) { return cf::call("softplus", {x, b, limit}); }
inline Tensor hardtanh(const Tensor& x, const Scalar& a = -1, const Scalar& b = 1) { return cf::call("hardtanh", {x, a, b}); }
inline Tensor hardswish(const Tensor& x) { return cf::call("hardswish", {x}); }
inline Tensor& relu_(Tensor& x) { return x.relu_(); }
inline Tensor cumsum(const Tensor& x, int64_t d) { return x.cumsum(d); }
inline Tensor logsumexp(const Tensor& x, IntArrayRef d, bool keepdim = false) { return x.logsumexp(d, keepdim); }
inline Tensor where(const Tensor& c, const Tensor& a, const Tensor& b) { return cf::call("where", {c, a, b}); }
inline Tensor transpose(const Tensor& x, int64_t a, int64_t b) { return x.transpose(a, b); }
inline Tensor reshape(const Tensor& x, IntArrayRef size) { return x.reshape(size); }
inline Tensor flatten(const Tensor& x, int64_t a = 0, int64_t b = -1) { return x.flatten(a, b); }
inline Tensor unsqueeze(const Tensor& x, int64_t d) { return x.unsqueeze(d); }
inline Tensor permute(const Tensor& x, IntArrayRef d) { return x.permute(d); }
inline Tensor cat(TensorList list, int64_t d = 0) { return cf::call("cat", {list, d}); }
inline Tensor stack(TensorList list, int64_t d = 0) { return cf::call("stack", {list, d}); }
inline std::vector<Tensor> chunk(const Tensor& x, int64_t n, int64_t d = 0) { return x.chunk(n, d); }
inline std::vector<Tensor> split(const Tensor& x, int64_t n, int64_t d = 0) { return x.split(n, d); }
inline Tensor diag(const Tensor& x, int64_t d = 0) { return cf::call("diag", {x, d}); }
inline Tensor tril(const Tensor& x, int64_t d = 0) { return x.tril(d); }
inline Tensor triu(const Tensor& x, int64_t d = 0) { return x.triu(d); }
inline Tensor einsum(const char* equation, TensorList list) { return cf::call("einsum", {equation, list}); }
inline bool allclose(const Tensor& a, const Tensor& b, double rtol = 1e-5, double atol = 1e-8) { return cf::call_scalar("allclose", {a, b, rtol, atol}).toBool(); }
inline bool equal(const Tensor& a, const Tensor& b) { return cf::call_scalar("equal", {a, b}).toBool(); }

inline Tensor linear(const Tensor& x, const Tensor& w, const std::optional<Tensor>& b = {}) { return cf::call("linear", {x, w, b}); }
inline Tensor addmm(const Tensor& c, const Tensor& a, const Tensor& b, const Scalar& beta = 1, const Scalar& alpha = 1) {
    return cf::call("addmm", {c, a, b, cf::key("beta", beta), cf::key("alpha", alpha)});
}
inline Tensor baddbmm(const Tensor& c, const Tensor& a, const Tensor& b, const Scalar& beta = 1, const Scalar& alpha = 1) {
    return cf::call("baddbmm", {c, a, b, cf::key("beta", beta), cf::key("alpha", alpha)});
}
#define CF_CONVOLUTION(name, rank)                                                                            \
    inline Tensor name(const Tensor& x, const Tensor& w, const std::optional<Tensor>& b = {}, IntArrayRef stride = 1, \
                       IntArrayRef padding = int64_t(0), IntArrayRef dilation = 1, int64_t groups = 1) {      \
        return cf::call(#name, {x, w, b, stride, padding, dilation, groups});                                 \
    }
CF_CONVOLUTION(conv1d, 1) CF_CONVOLUTION(conv2d, 2) CF_CONVOLUTION(conv3d, 3)
#define CF_TRANSPOSED(name)                                                                                   \
    inline Tensor name(const Tensor& x, const Tensor& w, const std::optional<Tensor>& b = {}, IntArrayRef stride = 1, \
                       IntArrayRef padding = int64_t(0), IntArrayRef output_padding = int64_t(0), int64_t groups = 1, \
                       IntArrayRef dilation = 1) {                                                            \
        return cf::call(#name, {x, w, b, stride, padding, output_padding, groups, dilation});                 \
    }
CF_TRANSPOSED(conv_transpose1d) CF_TRANSPOSED(conv_transpose2d) CF_TRANSPOSED(conv_transpose3d)
inline Tensor max_pool2d(const Tensor& x, IntArrayRef size, IntArrayRef stride = {}, IntArrayRef padding = int64_t(0),
                         IntArrayRef dilation = 1, bool ceil_mode = false) {
    return cf::call("max_pool2d", {x, size, stride, padding, dilation, ceil_mode});
}
inline Tensor avg_pool2d(const Tensor& x, IntArrayRef size, IntArrayRef stride = {}, IntArrayRef padding = int64_t(0),
                         bool ceil_mode = false, bool count_pad = true) {
    return cf::call("avg_pool2d", {x, size, stride, padding, ceil_mode, count_pad});
}
inline Tensor adaptive_avg_pool2d(const Tensor& x, IntArrayRef size) { return cf::call("adaptive_avg_pool2d", {x, size}); }
inline Tensor layer_norm(const Tensor& x, IntArrayRef shape, const std::optional<Tensor>& w = {},
                         const std::optional<Tensor>& b = {}, double eps = 1e-5) {
    return cf::call("layer_norm", {x, shape, w, b, eps});
}
inline Tensor group_norm(const Tensor& x, int64_t groups, const std::optional<Tensor>& w = {},
                         const std::optional<Tensor>& b = {}, double eps = 1e-5) {
    return cf::call("group_norm", {x, groups, w, b, eps});
}
inline Tensor batch_norm(const Tensor& x, const std::optional<Tensor>& w, const std::optional<Tensor>& b,
                         const std::optional<Tensor>& mean, const std::optional<Tensor>& var, bool training,
                         double momentum, double eps, bool cudnn = true) {
    return cf::call("batch_norm", {x, w, b, mean, var, training, momentum, eps, cudnn});
}
inline Tensor embedding(const Tensor& w, const Tensor& i) { return cf::call("embedding", {w, i}); }

}  // namespace at
#include "cf_factories.h"
