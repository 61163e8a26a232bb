// What nvcc's implicit <cuda_runtime.h> gives a source and NVRTC does not: constants, typedefs,
// numeric limits, math on integers, `std::` math and a small part of <type_traits>. Compiled before
// a candidate under NVRTC, and never shown in its diagnostics. All names in these headers that are not
// the standard's begin with __cf or CF_, so that a macro of the candidate's own cannot break them.
#ifndef CF_PRELUDE_H
#define CF_PRELUDE_H
#include "cf/plain.h"
#include "cf/type_traits.h"
#include "cf/limits.h"
#include "cf/math.h"
#endif  // CF_PRELUDE_H
