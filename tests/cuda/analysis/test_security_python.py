"""Python candidates: what is refused, what is doubtful, what is fine."""

from __future__ import annotations

import pytest

from coding_framework.cuda.analysis.safety import CUDASafetyAnalyzer
from coding_framework.cuda.analysis.security import SecurityValidator
from coding_framework.records import Severity

HONEST = '''
import os
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.cpp_extension import load_inline

os.environ["TORCH_CUDA_ARCH_LIST"] = "9.0"
source = """
#include <torch/extension.h>
__global__ void k(float* x, int n) { int i = threadIdx.x; if (i < n) x[i] = 0; }
torch::Tensor f(torch::Tensor x) { k<<<1, 256>>>(x.data_ptr<float>(), x.numel()); return x; }
"""
module = load_inline(name="m", cpp_sources="torch::Tensor f(torch::Tensor x);", cuda_sources=source,
                     functions=["f"], extra_cuda_cflags=["-O3", "--use_fast_math"])


class ModelNew(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(size))
        self.module = module
        self.eval()

    def forward(self, x):
        compiled = torch.compile
        return self.module.f(x.contiguous()) + getattr(self, "weight")
'''

REFUSED = [
    ("process", "import subprocess"),
    ("process", "import os\nos.system('ls')"),
    ("process", "from os import system as s\ns('ls')"),
    ("process", "import os\no = os\no.popen('ls')"),
    ("process", "import os\ngetattr(os, 'system')('ls')"),
    ("patching", "import os\ngetattr(os, 'sys' + 'tem')('ls')"),
    ("process", "import pip"),
    ("file-access", "open('x', 'w')"),
    ("file-access", "open('x', mode='ab')"),
    ("file-access", "open('/proc/self/maps')"),
    ("file-access", "import shutil"),
    ("network", "import socket"),
    ("network", "import urllib.request"),
    ("native-access", "import ctypes"),
    ("introspection", "import gc"),
    ("introspection", "import inspect"),
    ("introspection", "import sys\nsys._getframe(1)"),
    ("introspection", "import sys\nsys.modules['torch'] = None"),
    ("introspection", "import importlib"),
    ("introspection", "import builtins\nbuiltins.print = None"),
    ("introspection", "x = ().__class__.__bases__[0].__subclasses__()"),
    ("introspection", "def f(e): return e.__traceback__.tb_frame.f_back"),
    ("code-from-text", "exec('x = 1')"),
    ("code-from-text", "f = eval"),
    ("code-from-text", "compile('x', 'y', 'exec')"),
    ("code-from-text", "__import__('os')"),
    ("code-from-text", "__builtins__['print'] = None"),
    ("patching", "import torch\ntorch.cuda.synchronize = lambda: None"),
    ("patching", "import torch\ntorch.cuda.Event.elapsed_time = lambda a, b: 0.0"),
    ("patching", "import time\ntime.perf_counter = lambda: 0"),
    ("patching", "import torch\nc = torch.cuda\nc.synchronize = None"),
    ("patching", "import torch\nsetattr(torch.cuda, 'synchronize', None)"),
    ("patching", "import torch\ntorch.cuda.__dict__['synchronize'] = None"),
    ("patching", "import torch\nfor torch.Tensor.copy_ in (f,):\n    pass"),
    ("patching", "import torch\n[0 for torch.Tensor.copy_ in (f,)]"),
    ("patching", "import torch\nwith f as torch.Tensor.copy_:\n    pass"),
    ("patching", "import torch\n(a, (torch.Tensor.copy_, b)) = f"),
    ("patching", "import torch\ntype(torch.zeros(1)).copy_ = f"),
    ("patching", "def g(x): x.__class__.copy_ = f"),
    ("patching", "def g(x): setattr(type(x), 'copy_', f)"),
    ("process-exit", "import weakref\nweakref.ref(x, f)"),
    ("introspection", "import sys\nsys.monitoring.use_tool_id(1, 'x')"),
    ("introspection", "import functools\nfunctools.update_wrapper(a, b, assigned=('__glob' + 'als__',))"),
    ("tensor-subclass", "from torch.utils.flop_counter import FlopCounterMode"),
    ("code-from-text", "import typing\ntyping.ForwardRef('1')._evaluate({}, {})"),
    ("code-from-text", "from torch.fx.graph_module import _exec_with_source"),
    ("interposition", "s = '__global__ void k() {} TORCH_LIBRARY_IMPL(aten, CUDA, m) { m.impl(1, f); }'"),
    ("global-setting", "import torch\ntorch.backends.cuda.matmul.allow_tf32 = True"),
    ("global-setting", "import torch\ntorch.set_float32_matmul_precision('medium')"),
    ("threads", "import threading"),
    ("threads", "from concurrent.futures import ThreadPoolExecutor"),
    ("process-exit", "import atexit"),
    ("tensor-subclass", "import torch\nclass Lazy(torch.Tensor): pass"),
    ("tensor-subclass", "from torch import Tensor\nclass Lazy(Tensor): pass"),
    ("tensor-subclass", "class Lazy:\n    def __torch_function__(self): pass"),
    ("environment", "import os\nos.environ['LD_PRELOAD'] = 'x.so'"),
    ("compiler-flag", "load_inline(extra_cflags=['-include', '/etc/passwd'])"),
    ("process", 'source = """\n__global__ void k() {}\nvoid f() { system("ls"); }\n"""'),
    ("include", "source = '#include \"/etc/passwd\"'"),
    ("unparsable", "-" * 100_000 + "1"),
    ("profiler-interface", "import torch\nfor m in [torch.profiler]:\n    m.profile = None"),
    ("profiler-interface", "import torch\nif torch.autograd._profiler_enabled():\n    pass"),
    ("profiler-interface", "from torch.autograd import profiler"),
    ("profiler-interface", "import torch.nn.functional as F\nF.torch.profiler.profile"),
    ("process", "import torch\ntorch.os.system('ls')"),
    ("process", "from torch.utils import cpp_extension as c\nc.subprocess.run(['ls'])"),
    ("process", "import random\nrandom._os.system('ls')"),
    ("introspection", "from torch import sys as q\nq.modules['gc']"),
    ("introspection", "import torch\ntorch.__dict__['sys']"),
    ("introspection", "globals()['x']"),
    ("introspection", "vars()['__builtins__']['exec']('1')"),
    ("introspection", "print.__self__"),
    ("introspection", "def f(x): return getattr(x, '__globals__')"),
    ("introspection", "def f(x): return getattr(x, '__glob' + 'als__')"),
    ("introspection", "def f(x): return getattr(*(x, '__glob' + 'als__'))"),
    ("introspection", "def f(self, n): return getattr(self, n)"),
    ("introspection", "def f(self, n): return getattr(self, f'{n}0')"),
    ("introspection", "def f(self, n): return getattr(self, f'c{n}')"),
    ("introspection", "def f(self, n): return getattr(self, '__%s__' % n)"),
    ("introspection", "def f(self, n): return getattr(self, '{}s__'.format(n))"),
    ("introspection", "def f(self):\n  for n in ('weight', '__globals__'): getattr(self, n)"),
    ("introspection", "def f(self, x):\n  for i in range(9): getattr(self, f'f_back{x}')"),
    ("introspection", "def f(self):\n  for i in range(99): getattr(self, f'_{i:c}globals__')"),
    ("introspection", "def f(self):\n  for i in range(9): i = 'r_frame'; getattr(self, f'c{i}')"),
    ("introspection", "def range(n): return ['r_frame']\n[getattr(x, f'c{i}') for i in range(9)]"),
    ("introspection", "def f(x): delattr(x, '__' + 'del__')"),
    ("hidden-module", "from torch import *"),
    ("introspection", "import coding_framework.cuda"),
    ("introspection", "import __main__"),
    ("unpickling", "import pickle"),
    ("introspection", "import timeit"),
    ("introspection", "import pydoc\npydoc.locate('os')"),
    ("introspection", "def f(x):\n    match x:\n        case object(__globals__=g): return g"),
    ("native-access", "import torch\ntorch.ops.load_library('libc.so.6')"),
    ("process", "import posix"),
    ("file-access", "import io\nio.open('x')"),
    ("threads", "from logging.handlers import QueueListener"),
    ("threads", "import torch\ntorch.jit.fork(f)"),
    ("introspection", "import torch\ntype.__setattr__(torch.cuda.Event, 'elapsed_time', None)"),
    ("global-setting", "import torch\ntorch._C._set_cublas_allow_tf32(True)"),
    ("native-access", "class A:\n    @property\n    def __cuda_array_interface__(self): pass"),
    ("native-access", "class A:\n    __cuda_array_interface__ = {}"),
    ("process-exit", "class A:\n    def __del__(self): pass"),
    ("hidden-module", "import sys\na, b = sys, 1\na.modules"),
    ("hidden-module", "import sys\n(m := sys).modules"),
    ("hidden-module", "import sys\nm = sys if 1 else 0\nm.modules"),
    ("hidden-module", "import sys\n[m.modules for m in (sys,)]"),
    ("hidden-module", "import sys\nmatch sys:\n    case m: m.modules"),
    ("hidden-module", "import sys\ndef f(m): return m.modules\nf(sys)"),
    ("hidden-module", "import sys\ndef f(m=sys): return m.modules"),
    ("hidden-module", "import sys\nclass A: pass\nA.m = sys\nA.m.modules"),
    ("hidden-module", "import sys, torch\nm = torch.relu\nm = sys\nm.modules"),
    ("hidden-module", "import sys as q\ndef f():\n    import math as q"),
    ("hidden-module", "import torch\nlist(map(getattr, [1], ['real']))"),
    ("hidden-module", "import torch\nfor m in [torch.autograd]:\n    m._profiler_enabled()"),
    (
        "process",
        "\n".join(["import os", "a0 = os", *(f"a{n} = a{n - 1}" for n in range(1, 9)), "a8.popen('ls')"]),
    ),
]

FINE = [
    "class A:\n    n = 0\n    def f(self):\n        type(self).n += 1\n        self.x[0] = self.y = 1",
    "import functools\ndef f(g):\n    @functools.wraps(g)\n    def h(*a): return g(*a)\n    return h",
    "import torch\nflash = hasattr(torch.nn.functional, 'scaled_dot_product_attention')",
    "import torch\nkind = getattr(torch, 'float8_e4m3fn', None)",
    "try:\n    import triton\nexcept ImportError:\n    triton = None\nhas = triton is not None",
    "def f():\n    from math import sqrt\ndef g():\n    from torch import sqrt",
    "import torch\nfs = [torch.relu, torch.nn.ReLU]",
    "import torch\nF = torch.nn.functional\nF.relu(1)",
    "class A:\n  def forward(self, x):\n    for i in range(3): x = getattr(self, f'c{i}')(x)",
    "class A:\n  def f(self, x):\n    for i, m in enumerate(self.all): setattr(self, f'{i:02d}', m)",
    "class A:\n  def f(self, x, n): return getattr(self, f'conv{n}')(x), getattr(self, 'fc%d' % n)(x)",
    "class A:\n  def f(self, x): return [getattr(self, n + '_proj')(x) for n in ('q', 'k', 'v')]",
    "class A:\n  def f(self, x): return [getattr(x.layer, 'w' + str(i)) for i in range(2)]",
    "from torch import nn\nimport math\nx = math.sqrt(2.0)\ny = nn.Linear(1, 2)",
    "import torch\nimport torch.nn as nn\nfrom torch.utils.cpp_extension import load_inline\nf = load_inline",
    "import torch\n@torch.no_grad()\ndef f(x): return isinstance(x, torch.Tensor) and torch.trace(x)",
    "import torch\nimport triton\nfrom triton import language as tl\n@triton.jit\ndef k(x): tl.load(x)",
]

DOUBTFUL = [
    ("self-timing", "import torch\ne = torch.cuda.Event()"),
    ("side-stream", "import torch\ns = torch.cuda.Stream()"),
    ("cuda-graph", "import torch\ng = torch.cuda.CUDAGraph()"),
    ("global-setting", "import torch\ntorch.backends.cudnn.benchmark = True"),
    ("file-access", "text = open('weights.txt').read()"),
    ("environment", "import os\nos.environ['OMP_NUM_THREADS'] = '1'"),
    (
        "fallback",
        "import torch\ndef forward(x):\n    try:\n        return kernel(x)\n    except Exception:\n"
        "        return torch.relu(x)",
    ),
    ("side-stream", "source = '__global__ void k() {} void f() { cudaStreamCreate(&s); }'"),
]


def fired(source: str, severity: Severity = "critical") -> set[str]:
    report = SecurityValidator().validate(source, contract="module")
    return {finding.rule for finding in report.findings if finding.severity == severity}


@pytest.mark.parametrize(("rule", "source"), REFUSED)
def test_hostile_python_is_refused(rule: str, source: str) -> None:
    assert rule in fired(source)


@pytest.mark.parametrize("source", FINE)
def test_plain_uses_of_modules_are_fine(source: str) -> None:
    assert not SecurityValidator().validate(source, contract="module").findings


@pytest.mark.parametrize(("rule", "source"), DOUBTFUL)
def test_doubtful_python_is_a_warning_only(rule: str, source: str) -> None:
    assert rule in fired(source, "warning")
    assert not fired(source)


def test_an_honest_module_has_no_finding() -> None:
    assert SecurityValidator().validate(HONEST, contract="module").findings == ()


def test_names_that_the_source_defines_are_its_own() -> None:
    assert not fired("def eval(x): return x\neval(1)\ndef open(x): return x\nopen('w')")


def test_words_in_strings_and_comments_do_not_count() -> None:
    assert not fired("# import subprocess; exec('x')\ns = 'import gc; os.system(1)'")


def test_a_finding_in_a_string_has_the_line_of_the_whole_source() -> None:
    source = 'a = 1\nsource = """\n__global__ void k() {}\nvoid f() { fork(); }\n"""\n'
    (finding,) = SecurityValidator().validate(source, contract="module").findings
    assert finding.line == 4


def test_python_that_does_not_parse_is_an_error_and_no_attack() -> None:
    report = SecurityValidator().validate("def f(:\n", contract="module")
    assert [(finding.rule, finding.severity) for finding in report.findings] == [("unparsable", "error")]


def test_safety_looks_into_the_strings_of_a_module() -> None:
    source = 'a = 1\ns = """\n__global__ void k() { while (true) {} }\n"""\n'
    (finding,) = CUDASafetyAnalyzer().analyze(source, contract="module").findings
    assert (finding.rule, finding.line) == ("endless-loop", 3)
    assert CUDASafetyAnalyzer().analyze("def f(:", contract="module").findings[0].rule == "unparsable"
