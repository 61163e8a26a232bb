"""What a Python candidate (contract `module`) has no business with: tables of dotted names.

A name is looked up after imports and aliases are resolved, longest prefix first, so `torch.cuda.Stream`
has a rule of its own while `torch.cuda` has none.
"""

from __future__ import annotations

from typing import NamedTuple

from coding_framework.cuda.analysis.word_sets import words
from coding_framework.records import Severity


class PythonRule(NamedTuple):
    """One group of names with one reason."""

    rule: str
    severity: Severity
    reason: str
    suggestion: str
    names: frozenset[str]


_ONLY_COMPUTE = "Remove it: forward() computes its result from its inputs, and nothing else."

PYTHON_RULES: tuple[PythonRule, ...] = (
    PythonRule(
        "process", "critical", "starts other programs or ends this one", _ONLY_COMPUTE,
        words(
            "subprocess pty multiprocessing os.system os.popen os.fork os.forkpty os.execl os.execle "
            "os.execlp os.execv os.execve os.execvp os.execvpe os.posix_spawn os.posix_spawnp "
            "os.spawnl os.spawnv os.spawnve os.spawnvp os.kill os.killpg os._exit os.abort "
            "os.startfile commands runpy code codeop pdb torch.multiprocessing torch.distributed pip "
            "ensurepip venv setuptools distutils posix nt _posixsubprocess"
        ),
    ),
    PythonRule(
        "file-access", "critical", "changes or lists files of the machine", _ONLY_COMPUTE,
        words(
            "shutil os.remove os.unlink os.rename os.replace os.rmdir os.mkdir os.makedirs os.chmod "
            "os.chown os.link os.symlink os.truncate os.open os.write os.listdir os.scandir os.walk "
            "os.mkfifo os.pipe os.dup os.dup2 os.fdopen os.sendfile os.memfd_create glob mmap "
            "linecache fileinput _io io.open io.FileIO io.open_code codecs.open"
        ),
    ),
    PythonRule(
        "network", "critical", "uses the network", _ONLY_COMPUTE,
        words(
            "socket socketserver ssl http urllib urllib2 urllib3 requests httpx aiohttp ftplib "
            "smtplib telnetlib xmlrpc asyncio torch.hub torch.utils.model_zoo"
        ),
    ),
    PythonRule(
        "native-access", "critical", "reaches native memory or functions behind Python", _ONLY_COMPUTE,
        words(
            "ctypes cffi _ctypes cuda.bindings pycuda numba.cuda.cudadrv numpy.ctypeslib "
            "torch.ops.load_library torch.classes.load_library"
        ),
    ),
    PythonRule(
        "introspection", "critical", "walks the interpreter's objects, frames or modules", _ONLY_COMPUTE,
        words(
            "gc inspect sys._getframe sys._current_frames sys.settrace sys.setprofile sys.modules "
            "sys.meta_path sys.path_hooks sys.path_importer_cache sys.addaudithook sys.excepthook "
            "sys.exit sys.setswitchinterval timeit importlib imp pkgutil zipimport builtins __builtin__ "
            "traceback weakref.WeakSet types.FunctionType types.CodeType marshal dis bdb trace "
            "pydoc unittest cProfile profile doctest string.Formatter typing.get_type_hints "
            "tracemalloc faulthandler sysconfig site __main__ coding_framework operator.attrgetter "
            "operator.methodcaller functools.update_wrapper sys.monitoring"
        ),
    ),
    PythonRule(
        "threads", "critical", "runs work beside the call, which can go on after it has returned",
        "Remove it: parallel work belongs into the kernel.",
        words(
            "threading _thread concurrent sched queue.SimpleQueue greenlet logging.handlers logging.config "
            "torch.jit.fork torch.jit._fork torch.futures torch._C.fork socketserver"
        ),
    ),
    PythonRule(
        "process-exit", "critical", "runs code when something ends, or on signals", _ONLY_COMPUTE,
        words("atexit signal weakref"),
    ),
    PythonRule(
        "code-from-text", "critical", "runs code that does not stand in the source", "Write the code itself.",
        words(
            "typing.ForwardRef typing._eval_type dataclasses._create_fn torch.fx.graph_module torch.package"
        ),
    ),
    PythonRule(
        "tensor-subclass", "critical", "changes what a tensor does when it is looked at",
        "Return plain torch tensors.",
        words(
            "torch.overrides torch.utils._python_dispatch torch._C.DisableTorchFunction torch.library "
            "torch.Tensor._make_subclass torch.Tensor._make_wrapper_subclass torch.utils.flop_counter "
            "torch._subclasses torch.fx.experimental torch.testing._internal"
        ),
    ),
    PythonRule(
        "global-setting", "critical", "changes the precision of all of torch",
        "Leave torch's settings alone; choose precision inside the kernel.",
        words(
            "torch.set_float32_matmul_precision torch.set_default_dtype torch.set_default_device "
            "torch._C._set_cublas_allow_tf32 torch._C._set_cudnn_allow_tf32 "
            "torch._C._set_float32_matmul_precision torch._C._set_fp32_precision_setter"
        ),
    ),
    PythonRule(
        "profiler-interface", "critical", "reaches the profiler that the judge uses", _ONLY_COMPUTE,
        words(
            "torch.profiler torch.autograd.profiler torch.autograd._profiler_enabled "
            "torch.autograd.profiler_util torch.autograd.profiler_legacy torch._C._autograd "
            "torch._C._profiler torch.autograd._enable_profiler torch.autograd._disable_profiler "
            "torch.autograd._kineto_step torch.autograd._is_kineto_stopped "
            "torch.autograd.kineto_available torch.cuda.profiler"
        ),
    ),
    PythonRule(
        "self-timing", "warning", "measures itself; the judge's own clock counts", "Remove the timing code.",
        words("torch.cuda.Event torch.utils.benchmark"),
    ),
    PythonRule(
        "side-stream", "warning", "works on a stream of its own, outside the window that is timed",
        "Work on the current stream.",
        words("torch.cuda.Stream torch.cuda.stream torch.cuda.ExternalStream torch.cuda.set_stream"),
    ),
    PythonRule(
        "cuda-graph", "warning", "replays recorded work, with the pointers of an earlier call",
        "Launch the kernels directly in every call.",
        words("torch.cuda.CUDAGraph torch.cuda.graph torch.cuda.graphs torch.cuda.make_graphed_callables"),
    ),
    PythonRule(
        "unpickling", "critical", "loads objects, which can run code", _ONLY_COMPUTE,
        words("pickle cPickle dill cloudpickle shelve torch.load torch.jit.load numpy.load"),
    ),
    PythonRule(
        "temporary-files", "warning", "makes files", _ONLY_COMPUTE, words("tempfile pathlib"),
    ),
)  # fmt: skip

FORBIDDEN_BUILTINS = frozenset({"exec", "eval", "compile", "__import__", "breakpoint", "input"})
REFLECTION = frozenset({"getattr", "setattr", "delattr", "vars"})
FORBIDDEN_ATTRIBUTES = words(
    "__subclasses__ __globals__ __code__ __closure__ __builtins__ __loader__ __bases__ __mro__ f_back "
    "f_locals f_globals gi_frame cr_frame tb_frame tb_next __reduce__ __reduce_ex__ __getattribute__ "
    "cell_contents __torch_function__ __torch_dispatch__ __self__ __func__ __spec__ __setattr__ __delattr__ "
    "__cuda_array_interface__ __array_interface__ __del__"
)
FINE_ENVIRONMENT = words(
    "TORCH_CUDA_ARCH_LIST MAX_JOBS CUDA_HOME CUDA_PATH TORCH_EXTENSIONS_DIR CC CXX TORCH_LOGS "
    "PYTORCH_CUDA_ALLOC_CONF CUDA_LAUNCH_BLOCKING TORCH_USE_CUDA_DSA"
)
BAD_COMPILER_FLAGS: tuple[str, ...] = (
    "-include",
    "-fplugin",
    "-wrapper",
    "-specs",
    "@",
    "-imacros",
    "-x",
    "-B",
    "--pre-include",
    "-Wl,-z",
    "-Wl,--wrap",
    "-Wl,--defsym",
    "-Xlinker",
    "-ccbin",
    "--compiler-bindir",
)
_BY_NAME = {name: rule for rule in PYTHON_RULES for name in rule.names}


def rule_for(dotted: str) -> PythonRule | None:
    """The rule of the longest known prefix of a dotted name."""
    while dotted:
        if dotted in _BY_NAME:
            return _BY_NAME[dotted]
        dotted = dotted.rpartition(".")[0]
    return None
