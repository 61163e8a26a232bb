"""Names that a candidate has no business with: tables, each with its reason.

`sure` names mean one thing only: any mention counts unless the source declares the name itself, and a
call always counts. `common` names are words that honest code also uses for its own functions: only a
call of one that the source does not declare counts. Methods and other libraries' scopes never count;
for `sure` names the scope `std` does.
"""

from __future__ import annotations

from dataclasses import dataclass

from coding_framework.cuda.analysis.word_sets import words
from coding_framework.records import Contract, Severity

HOST_CONTRACTS: tuple[Contract, ...] = ("extension",)
CUDA_CONTRACTS: tuple[Contract, ...] = ("kernel", "extension")


@dataclass(frozen=True)
class NameRule:
    """A group of names with one reason."""

    rule: str
    reason: str
    suggestion: str
    sure: frozenset[str] = frozenset()
    common: frozenset[str] = frozenset()
    scoped: frozenset[str] = frozenset()
    """Only with a scope: `std::thread`."""
    prefixes: tuple[str, ...] = ()
    """Every name that begins so counts as sure."""
    severity: Severity = "critical"
    contracts: tuple[Contract, ...] = CUDA_CONTRACTS


_COMPUTE_ONLY = "Compute the result from the inputs alone, in CUDA code."

NAME_RULES: tuple[NameRule, ...] = (
    NameRule(
        rule="process",
        reason="starts another process",
        suggestion=f"Remove it: a candidate may not run programs. {_COMPUTE_ONLY}",
        sure=words(
            "fork vfork execl execle execlp execv execve execvp execvpe execveat fexecve system popen "
            "posix_spawn posix_spawnp clone3 unshare setns pclose waitpid wait4 daemon wordexp"
        ),
    ),
    NameRule(
        rule="file-access",
        reason="reads or writes files of the machine",
        suggestion=f"Remove it: inputs come as arguments and results go to the outputs. {_COMPUTE_ONLY}",
        sure=words(
            "fopen fopen64 freopen fdopen openat openat2 open64 creat tmpfile tmpnam mkstemp mkdtemp "
            "opendir fdopendir readdir scandir nftw glob64 unlink unlinkat rmdir mkdir chmod fchmod "
            "chown symlink readlink realpath ftruncate sendfile copy_file_range mkfifo mknod "
            "inotify_init chroot pivot_root chdir fchdir getcwd pread pwrite preadv pwritev readv "
            "writev ioctl fcntl ifstream ofstream basic_ifstream basic_ofstream basic_filebuf "
            "directory_iterator recursive_directory_iterator"
        ),
        common=words(
            "open read write close dup dup2 pipe pipe2 rename access stat lstat fstat fread fwrite "
            "fgets fscanf mount umount"
        ),
        scoped=words(
            "std::ifstream std::ofstream std::fstream std::basic_ifstream std::basic_ofstream "
            "std::basic_fstream std::filebuf std::filesystem experimental::filesystem"
        ),
    ),
    NameRule(
        rule="network",
        reason="uses the network",
        suggestion=f"Remove it: there is no network. {_COMPUTE_ONLY}",
        sure=words(
            "socket socketpair getaddrinfo gethostbyname inet_pton inet_addr inet_aton recvfrom "
            "sendto recvmsg sendmsg setsockopt accept4 curl_easy_init curl_easy_perform epoll_create "
            "epoll_create1 io_uring_setup"
        ),
        common=words("connect listen accept send recv"),
    ),
    NameRule(
        rule="memory-mapping",
        reason="maps memory, or changes its protection, behind the allocator",
        suggestion="Remove it; use device pointers that were given, or torch::empty for temporary memory.",
        sure=words(
            "mmap mmap64 munmap mprotect pkey_mprotect mremap shm_open shm_unlink shmget shmat "
            "memfd_create process_vm_readv process_vm_writev userfaultfd madvise mlock "
            "remap_file_pages sbrk"
        ),
        common=words("brk"),
    ),
    NameRule(
        rule="dynamic-loading",
        reason="loads code or looks up symbols at run time",
        suggestion="Remove it: all code must stand in the source.",
        sure=words(
            "dlopen dlmopen dlsym dlvsym dladdr dlinfo dl_iterate_phdr cuGetProcAddress "
            "cuGetProcAddress_v2 cudaGetDriverEntryPoint cudaGetDriverEntryPointByVersion LoadLibrary "
            "GetProcAddress __libc_dlopen_mode _dl_open"
        ),
        prefixes=("cuModuleLoad", "cuLibraryLoad", "cudaLibraryLoad", "nvrtc", "cuLink"),
    ),
    NameRule(
        rule="process-control",
        reason="reaches into a process: signals, tracing, raw system calls or limits",
        suggestion="Remove it: a candidate only computes.",
        sure=words(
            "ptrace prctl syscall ualarm ssignal sigset bsd_signal sysv_signal "
            "sigaction sigprocmask sigaltstack tgkill tkill setitimer "
            "timer_create setrlimit prlimit sched_setaffinity sched_setscheduler setuid setgid "
            "seteuid capset personality setpriority pthread_kill pthread_sigmask longjmp siglongjmp "
            "arch_prctl"
        ),
        common=words("kill raise signal alarm nice"),
    ),
    NameRule(
        rule="environment",
        reason="changes the environment of the process",
        suggestion="Remove it; settings of the process are not the candidate's.",
        sure=words("setenv putenv unsetenv clearenv"),
    ),
    NameRule(
        rule="environment-read",
        reason="reads the environment of the process, which can tell one phase of judging from another",
        suggestion="Do the same work whatever the environment says.",
        sure=words("getenv secure_getenv environ __environ gethostname getlogin getpid getppid uname"),
        severity="warning",
    ),
    NameRule(
        rule="process-exit",
        reason="ends the process, or runs code at its end, before the result is checked",
        suggestion="Return from the function; report errors with TORCH_CHECK.",
        sure=words("_exit _Exit quick_exit atexit on_exit at_quick_exit __cxa_atexit exit_group"),
    ),
    NameRule(
        rule="threads",
        reason="starts threads, whose work can go on after the call has returned",
        suggestion="Remove them: parallel work belongs into the kernel.",
        sure=words(
            "pthread_create thrd_create cudaLaunchHostFunc cudaStreamAddCallback cuLaunchHostFunc "
            "cuStreamAddCallback cudaGraphAddHostNode cuGraphAddHostNode"
        ),
        common=words("thread jthread async"),
        scoped=words(
            "std::thread std::jthread std::async boost::thread at::launch at::intraop_launch "
            "internal::launch c10::ThreadPool"
        ),
    ),
    NameRule(
        rule="python-from-native",
        reason="reaches into the Python interpreter, where the judge's own objects are",
        suggestion="Use the tensors that were passed and nothing else of Python.",
        sure=words(
            "_PyEval_EvalFrameDefault Py_AddPendingCall Py_AtExit PyObject_GetAttr PyObject_SetAttr "
            "PyObject_GetAttrString PyObject_SetAttrString PyObject_Call PyObject_CallObject"
        ),
        scoped=words(
            "py::exec py::eval py::eval_file py::getattr py::setattr "
            "pybind11::getattr pybind11::setattr pybind11::exec pybind11::eval pybind11::eval_file "
            "module_::import module::import"
        ),
        prefixes=("PyRun_", "PyImport_", "PyEval_", "PyFrame_", "PySys_", "PyInterpreterState_"),
    ),
    NameRule(
        rule="foreign-memory",
        reason="opens GPU memory of another process or walks allocations that are not its own",
        suggestion="Use only the pointers that were passed.",
        prefixes=("cudaIpc", "cuIpc", "cuMemImport", "cuMemExport", "cudaImportExternal", "cuMemMap"),
        sure=words(
            "cuMemGetAddressRange cuMemGetAddressRange_v2 cuPointerGetAttribute cuPointerGetAttributes"
        ),
    ),
    NameRule(
        rule="other-context",
        reason="works in a context of the device that the judge does not wait for",
        suggestion="Remove it: launch kernels in the context that there is, on the current stream.",
        prefixes=("cuCtxCreate", "cuCtxSet", "cuCtxPush", "cuGreenCtx", "cuDevicePrimaryCtx"),
    ),
    NameRule(
        rule="profiler-interface",
        reason="hooks into the tools that measure it",
        suggestion="Remove it: timing is the judge's.",
        scoped=words(
            "torch::profiler autograd::profiler profiler::impl at::hasCallbacks at::hasGlobalCallbacks "
            "at::hasThreadLocalCallbacks at::addGlobalCallback at::addThreadLocalCallback libkineto::api"
        ),
        prefixes=("cupti", "CUPTI", "nvtxInitialize", "cuProfiler", "cudaProfiler"),
    ),
    NameRule(
        rule="self-timing",
        reason="reads a clock or CUDA events; the judge's own clock counts",
        suggestion="Remove the timing code.",
        sure=words("clock_gettime gettimeofday cudaEventElapsedTime cuEventElapsedTime __rdtsc _rdtsc"),
        severity="warning",
        contracts=HOST_CONTRACTS,
    ),
    NameRule(
        rule="side-stream",
        reason="works on a stream of its own, outside the window that is timed",
        suggestion="Launch on the current stream: at::cuda::getCurrentCUDAStream().",
        sure=words(
            "cudaStreamCreate cudaStreamCreateWithFlags cudaStreamCreateWithPriority "
            "cudaStreamNonBlocking cuStreamCreate cuStreamCreateWithPriority getStreamFromPool"
        ),
        scoped=words("cuda::setCurrentCUDAStream cuda::getStreamFromPool"),
        severity="warning",
        contracts=HOST_CONTRACTS,
    ),
    NameRule(
        rule="cuda-graph",
        reason="replays recorded work, with the pointers and sizes of an earlier call",
        suggestion="Launch the kernels directly in every call.",
        prefixes=("cudaGraph", "cuGraph", "cudaStreamBeginCapture", "cuStreamBeginCapture"),
        severity="warning",
        contracts=HOST_CONTRACTS,
    ),
)

INTERPOSED = words(
    "clock_gettime gettimeofday clock time times getrusage nanosleep malloc free calloc realloc "
    "memcpy memset memcmp memmove strcmp strlen write read open close ioctl syscall dlsym dlopen "
    "pthread_create abort exit _init _fini _start __libc_start_main sched_yield"
)
"""Defining one of these in host code replaces it for the whole process."""
INTERPOSED_PREFIXES: tuple[str, ...] = (
    "cudaEvent",
    "cudaStream",
    "cudaDevice",
    "cudaLaunch",
    "cudaMem",
    "cuEvent",
    "cuStream",
    "cuLaunch",
    "cuCtx",
    "cuMem",
    "cupti",
    "nvrtc",
    "_ZN2at",
    "_ZN3c10",
    "__cuda",
    "PyInit_",
)

FORBIDDEN_SURE = frozenset(
    name for rule in NAME_RULES if rule.severity == "critical" for name in rule.sure
) | frozenset({"asm", "__asm__", "__asm"})
FORBIDDEN = FORBIDDEN_SURE | frozenset(
    name for rule in NAME_RULES if rule.severity == "critical" for name in rule.common
)
"""What token pasting may not build."""
