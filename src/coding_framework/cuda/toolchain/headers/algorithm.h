// The part of <algorithm> that kernels use, beyond min, max and swap, which are always there.
#ifndef CF_ALGORITHM_H
#define CF_ALGORITHM_H
namespace std {
template <class __cf_T> CF_FN constexpr const __cf_T& clamp(const __cf_T& __cf_x, const __cf_T& __cf_low, const __cf_T& __cf_high) {
  return __cf_x < __cf_low ? __cf_low : __cf_high < __cf_x ? __cf_high : __cf_x;
}
template <class __cf_I> CF_FN constexpr __cf_I max_element(__cf_I __cf_first, __cf_I __cf_last) {
  __cf_I __cf_best = __cf_first;
  for (; __cf_first != __cf_last; ++__cf_first)
    if (*__cf_best < *__cf_first) __cf_best = __cf_first;
  return __cf_best;
}
template <class __cf_I> CF_FN constexpr __cf_I min_element(__cf_I __cf_first, __cf_I __cf_last) {
  __cf_I __cf_best = __cf_first;
  for (; __cf_first != __cf_last; ++__cf_first)
    if (*__cf_first < *__cf_best) __cf_best = __cf_first;
  return __cf_best;
}
}  // namespace std
#endif  // CF_ALGORITHM_H
