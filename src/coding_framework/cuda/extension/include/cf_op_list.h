// The table of operations that the host does, under torch's own names and in its own argument order.
// Each becomes a method of Tensor; cf_ops.h makes free functions of most of them as well.
#pragma once

// f(x) and x.f()
#define CF_UNARY_METHODS(X)                                                                             \
    X(relu) X(sigmoid) X(tanh) X(exp) X(log) X(sqrt) X(rsqrt) X(abs) X(neg) X(sin) X(cos) X(tan)        \
    X(floor) X(ceil) X(round) X(trunc) X(sign) X(erf) X(erfc) X(log2) X(log10) X(log1p) X(expm1)        \
    X(exp2) X(square) X(reciprocal) X(sinh) X(cosh) X(asin) X(acos) X(atan) X(isnan) X(isinf)           \
    X(isfinite) X(logical_not) X(bitwise_not) X(nonzero) X(t) X(detach) X(numpy_T) X(pin_memory)        \
    X(relu6) X(selu) X(hardsigmoid) X(silu) X(mish) X(logit) X(inverse) X(trace) X(max) X(min)
// x.f_()
#define CF_UNARY_INPLACE_METHODS(X)                                                                     \
    X(relu_) X(sigmoid_) X(tanh_) X(exp_) X(log_) X(sqrt_) X(rsqrt_) X(abs_) X(neg_) X(zero_) X(floor_) \
    X(ceil_) X(round_) X(square_) X(reciprocal_)

// X(name, parameters of the definition, arguments of the call, parameters with defaults)
#define CF_METHODS(X)                                                                                    \
    X(view, (IntArrayRef size), (*this, size), (IntArrayRef size))                                       \
    X(reshape, (IntArrayRef size), (*this, size), (IntArrayRef size))                                    \
    X(expand, (IntArrayRef size, bool), (*this, size), (IntArrayRef size, bool implicit = false))        \
    X(repeat, (IntArrayRef times), (*this, times), (IntArrayRef times))                                  \
    X(permute, (IntArrayRef dims), (*this, dims), (IntArrayRef dims))                                    \
    X(view_as, (const Tensor& o), (*this, o), (const Tensor& o))                                         \
    X(reshape_as, (const Tensor& o), (*this, o), (const Tensor& o))                                      \
    X(expand_as, (const Tensor& o), (*this, o), (const Tensor& o))                                       \
    X(type_as, (const Tensor& o), (*this, o), (const Tensor& o))                                         \
    X(flatten, (int64_t a, int64_t b), (*this, a, b), (int64_t a = 0, int64_t b = -1))                   \
    X(transpose, (int64_t a, int64_t b), (*this, a, b), (int64_t a, int64_t b))                          \
    X(unsqueeze, (int64_t dim), (*this, dim), (int64_t dim))                                             \
    X(squeeze, (), (*this), ())                                                                          \
    X(squeeze, (int64_t dim), (*this, dim), (int64_t dim))                                               \
    X(select, (int64_t dim, int64_t i), (*this, dim, i), (int64_t dim, int64_t i))                       \
    X(slice, (int64_t dim, std::optional<int64_t> from, std::optional<int64_t> to, int64_t step),        \
      (*this, dim, from, to, step),                                                                      \
      (int64_t dim = 0, std::optional<int64_t> from = {}, std::optional<int64_t> to = {}, int64_t step = 1)) \
    X(narrow, (int64_t d, int64_t a, int64_t n), (*this, d, a, n), (int64_t d, int64_t a, int64_t n))    \
    X(index_select, (int64_t d, const Tensor& i), (*this, d, i), (int64_t d, const Tensor& i))           \
    X(gather, (int64_t d, const Tensor& i), (*this, d, i), (int64_t d, const Tensor& i))                 \
    X(as_strided, (IntArrayRef a, IntArrayRef b), (*this, a, b), (IntArrayRef a, IntArrayRef b))         \
    X(clone, (), (*this), ())                                                                            \
    X(add, (const Tensor& o, const Scalar& f), (*this, o, cf::key("alpha", f)), (const Tensor& o, const Scalar& f = 1)) \
    X(add, (const Scalar& o), (*this, o), (const Scalar& o))                                             \
    X(sub, (const Tensor& o, const Scalar& f), (*this, o, cf::key("alpha", f)), (const Tensor& o, const Scalar& f = 1)) \
    X(sub, (const Scalar& o), (*this, o), (const Scalar& o))                                             \
    X(rsub, (const Scalar& o), (*this, o), (const Scalar& o))                                            \
    CF_BINARY(X, mul) CF_BINARY(X, div) CF_BINARY(X, pow) CF_BINARY(X, eq) CF_BINARY(X, ne)              \
    CF_BINARY(X, lt) CF_BINARY(X, le) CF_BINARY(X, gt) CF_BINARY(X, ge) CF_BINARY(X, fmod)               \
    CF_BINARY(X, remainder) CF_TENSORS(X, maximum) CF_TENSORS(X, minimum) CF_TENSORS(X, logical_and)     \
    CF_TENSORS(X, logical_or) CF_TENSORS(X, matmul) CF_TENSORS(X, mm) CF_TENSORS(X, bmm)                 \
    CF_TENSORS(X, mv) CF_TENSORS(X, dot) CF_TENSORS(X, outer) CF_TENSORS(X, atan2)                       \
    X(masked_fill, (const Tensor& m, const Scalar& v), (*this, m, v), (const Tensor& m, const Scalar& v)) \
    X(softmax, (int64_t d, std::optional<ScalarType> t), (*this, d, t), (int64_t d, std::optional<ScalarType> t = {})) \
    X(log_softmax, (int64_t d, std::optional<ScalarType> t), (*this, d, t), (int64_t d, std::optional<ScalarType> t = {})) \
    X(clamp, (const std::optional<Scalar>& a, const std::optional<Scalar>& b), (*this, a, b),            \
      (const std::optional<Scalar>& a, const std::optional<Scalar>& b = {}))                             \
    X(clamp_min, (const Scalar& a), (*this, a), (const Scalar& a))                                       \
    X(clamp_max, (const Scalar& a), (*this, a), (const Scalar& a))                                       \
    X(leaky_relu, (const Scalar& a), (*this, a), (const Scalar& a = 0.01))                               \
    X(tril, (int64_t d), (*this, d), (int64_t d = 0))                                                    \
    X(triu, (int64_t d), (*this, d), (int64_t d = 0))                                                    \
    CF_REDUCTION(X, sum) CF_REDUCTION(X, mean)                                                           \
    X(prod, (), (*this), ())                                                                             \
    X(amax, (IntArrayRef d, bool k), (*this, d, k), (IntArrayRef d = {}, bool k = false))                \
    X(amin, (IntArrayRef d, bool k), (*this, d, k), (IntArrayRef d = {}, bool k = false))                \
    X(argmax, (std::optional<int64_t> d, bool k), (*this, d, k), (std::optional<int64_t> d = {}, bool k = false)) \
    X(argmin, (std::optional<int64_t> d, bool k), (*this, d, k), (std::optional<int64_t> d = {}, bool k = false)) \
    X(std, (bool unbiased), (*this, unbiased), (bool unbiased = true))                                   \
    X(std, (IntArrayRef d, bool u, bool k), (*this, d, u, k), (IntArrayRef d, bool u = true, bool k = false)) \
    X(var, (bool unbiased), (*this, unbiased), (bool unbiased = true))                                   \
    X(var, (IntArrayRef d, bool u, bool k), (*this, d, u, k), (IntArrayRef d, bool u = true, bool k = false)) \
    X(norm, (const Scalar& p), (*this, p), (const Scalar& p = 2))                                        \
    X(norm, (const Scalar& p, IntArrayRef d, bool k), (*this, p, d, k), (const Scalar& p, IntArrayRef d, bool k = false)) \
    X(cumsum, (int64_t d), (*this, d), (int64_t d))                                                      \
    X(cumprod, (int64_t d), (*this, d), (int64_t d))                                                     \
    X(logsumexp, (IntArrayRef d, bool k), (*this, d, k), (IntArrayRef d, bool k = false))                \
    X(all, (), (*this), ())                                                                              \
    X(any, (), (*this), ())                                                                              \
    X(addmm, (const Tensor& a, const Tensor& b), (*this, a, b), (const Tensor& a, const Tensor& b))

#define CF_BINARY(X, name)                                             \
    X(name, (const Tensor& o), (*this, o), (const Tensor& o))          \
    X(name, (const Scalar& o), (*this, o), (const Scalar& o))
#define CF_TENSORS(X, name) X(name, (const Tensor& o), (*this, o), (const Tensor& o))
#define CF_REDUCTION(X, name)                                                                        \
    X(name, (), (*this), ())                                                                         \
    X(name, (IntArrayRef d, bool k, std::optional<ScalarType> t), (*this, d, k, cf::key("dtype", t)), \
      (IntArrayRef d, bool k = false, std::optional<ScalarType> t = {}))

#define CF_INPLACE_METHODS(X)                                                                              \
    X(add_, (const Tensor& o, const Scalar& f), (*this, o, cf::key("alpha", f)), (const Tensor& o, const Scalar& f = 1)) \
    X(add_, (const Scalar& o), (*this, o), (const Scalar& o))                                             \
    X(sub_, (const Tensor& o, const Scalar& f), (*this, o, cf::key("alpha", f)), (const Tensor& o, const Scalar& f = 1)) \
    X(sub_, (const Scalar& o), (*this, o), (const Scalar& o))                                             \
    CF_BINARY(X, mul_) CF_BINARY(X, div_) CF_BINARY(X, pow_) CF_BINARY(X, fill_)                          \
    X(copy_, (const Tensor& o, bool n), (*this, o, n), (const Tensor& o, bool n = false))                 \
    X(clamp_, (const std::optional<Scalar>& a, const std::optional<Scalar>& b), (*this, a, b),            \
      (const std::optional<Scalar>& a, const std::optional<Scalar>& b = {}))                              \
    X(clamp_min_, (const Scalar& a), (*this, a), (const Scalar& a))                                       \
    X(clamp_max_, (const Scalar& a), (*this, a), (const Scalar& a))                                       \
    X(masked_fill_, (const Tensor& m, const Scalar& v), (*this, m, v), (const Tensor& m, const Scalar& v)) \
    X(addmm_, (const Tensor& a, const Tensor& b), (*this, a, b), (const Tensor& a, const Tensor& b))      \
    X(uniform_, (double a, double b), (*this, a, b), (double a = 0, double b = 1))                        \
    X(normal_, (double a, double b), (*this, a, b), (double a = 0, double b = 1))
