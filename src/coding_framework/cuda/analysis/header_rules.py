"""Which headers a source may include.

A path out of the search path, a computed name or a file that is no header is an attempt to read the
machine's files (the compiler's messages quote what they read) and is critical. A header for files,
processes or threads is a warning: without a call it does nothing, and the calls have rules of their own.
An unknown header is an error: most likely it does not exist here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from coding_framework.cuda.analysis.findings import security
from coding_framework.cuda.analysis.word_sets import words
from coding_framework.records import Finding

KNOWN = words(
    "algorithm any array atomic barrier bit bitset cassert ccomplex cctype cerrno cfenv cfloat chrono "
    "cinttypes climits clocale cmath compare complex concepts condition_variable csetjmp csignal "
    "cstdarg cstdbool cstddef cstdint cstdio cstdlib cstring ctime cwchar cwctype deque exception "
    "execution expected functional initializer_list iomanip ios iosfwd iostream istream iterator "
    "latch limits list locale map memory memory_resource mutex new numbers numeric optional ostream "
    "queue random ranges ratio regex scoped_allocator set shared_mutex span sstream stack stdexcept "
    "streambuf string string_view strstream syncstream system_error tuple type_traits typeindex "
    "typeinfo unordered_map unordered_set utility valarray variant vector version assert.h ctype.h "
    "errno.h fenv.h float.h inttypes.h limits.h locale.h math.h stdarg.h stdbool.h stddef.h stdint.h "
    "stdio.h stdlib.h string.h time.h omp.h mma.h cublas_v2.h cublas.h cublasLt.h cudnn.h cusparse.h "
    "cuComplex.h cufft.h curand.h curand_kernel.h cusolverDn.h cooperative_groups.h sm_20_intrinsics.h "
    "device_launch_parameters.h device_functions.h vector_types.h vector_functions.h math_constants.h "
    "math_functions.h driver_types.h builtin_types.h host_defines.h texture_types.h surface_types.h "
    "library_types.h device_types.h crt/device_functions.h crt/math_functions.h sm_30_intrinsics.h "
    "sm_32_intrinsics.h sm_35_intrinsics.h sm_60_atomic_functions.h immintrin.h pybind11.h"
)
KNOWN_FOLDERS = (
    "torch/", "ATen/", "c10/", "caffe2/", "pybind11/", "cub/", "thrust/", "cuda/", "nv/",
    "cooperative_groups/", "cutlass/", "cute/", "crt/", "mma/", "nvtx3/", "THC/", "experimental/mdspan",
)  # fmt: skip
HOST_HEADERS = words(
    "fstream filesystem thread future stop_token semaphore coroutine unistd.h fcntl.h dlfcn.h "
    "signal.h pthread.h dirent.h spawn.h sched.h ucontext.h setjmp.h execinfo.h netdb.h poll.h "
    "semaphore.h link.h elf.h threads.h ifaddrs.h termios.h pwd.h grp.h syslog.h mqueue.h aio.h "
    "glob.h ftw.h wordexp.h sysexits.h memory.h Python.h nvrtc.h cupti.h cuda_profiler_api.h "
    "cudaProfiler.h windows.h"
)
HOST_FOLDERS = ("sys/", "linux/", "arpa/", "netinet/", "net/", "asm/", "bits/", "curl/", "openssl/", "boost/")
_LITERAL = re.compile(r'(?:<(?P<angled>[^<>]+)>|"(?P<quoted>[^"]+)")\s*$')
_HEADER_NAME = re.compile(r"[\w+./-]+?(\.(h|hpp|cuh|hh|hxx|inl|inc|cu))?")
_NEEDS_NOTHING = "A kernel needs at most CUDA headers such as <cuda_fp16.h>."


def include_finding(directive: str, operand: str, line: int) -> Iterator[Finding]:
    """At most one finding for an `#include`."""
    literal = _LITERAL.match(operand)
    if literal is None:
        reason = "`#include` of a computed name: what it reads cannot be known."
        yield security("include", "critical", line, reason, "Name a header as <name>.")
        return
    path = literal["angled"] or literal["quoted"]
    if _leaves_the_search_path(path) or (literal["quoted"] and not _looks_like_a_header(path)):
        reason = f"`#include` of {operand[:60]} reads a file of the machine."
        yield security("include", "critical", line, reason, f"Remove the line. {_NEEDS_NOTHING}")
    elif directive != "include":
        reason = f"`#{directive}` searches headers in an unusual way."
        yield security("include", "warning", line, reason, "Use `#include`.")
    elif path in HOST_HEADERS or path.startswith(HOST_FOLDERS):
        reason = f"<{path}> is for files, processes, threads or the system."
        yield security("host-header", "warning", line, reason, f"Remove the line. {_NEEDS_NOTHING}")
    elif not is_known(path):
        reason = f"<{path}> is not a header of CUDA or of C++."
        yield security("unknown-header", "error", line, reason, f"Remove the line. {_NEEDS_NOTHING}")


def is_known(path: str) -> bool:
    """Headers of CUDA and C++, and of torch for extensions."""
    return (
        path in KNOWN or path.startswith(KNOWN_FOLDERS) or path.startswith(("cuda_", "cuda.", "cudnn", "sm_"))
    )


def _leaves_the_search_path(path: str) -> bool:
    return (
        path.startswith(("/", "~")) or "\\" in path or ":" in path or ".." in path.split("/") or "//" in path
    )


def _looks_like_a_header(path: str) -> bool:
    match = _HEADER_NAME.fullmatch(path)
    return match is not None and (match[1] is not None or is_known(path) or path in HOST_HEADERS)
