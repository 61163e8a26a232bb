// Everything of the light header that is no template, compiled once and linked into each extension.
// This keeps it out of the three front ends that read every candidate's source.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstring>

#include "cf_bind.h"
#include "cf_cuda.h"

namespace cf {
Host host;
}

#include "cf_impl_text.h"
#include "cf_impl_tensor.h"
#include "cf_impl_factories.h"
#include "cf_impl_cuda.h"
#include "cf_impl_bind.h"
