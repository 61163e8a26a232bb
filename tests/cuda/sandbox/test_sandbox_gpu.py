"""The GPU through the walls: a context inside, and memory shared with a process outside (CUDA IPC)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from sandbox_bench import MIB, Bench

pytestmark = pytest.mark.gpu

CUDA = """
import ctypes, sys
cuda = ctypes.CDLL('libcuda.so.1')
def call(name, *arguments):
    code = getattr(cuda, name)(*arguments)
    if code:
        print('FAILED', name, code, flush=True)
        sys.exit(3)
class Handle(ctypes.Structure):
    _fields_ = [('bytes', ctypes.c_char * 64)]
call('cuInit', 0)
device, context = ctypes.c_int(), ctypes.c_void_p()
call('cuDeviceGet', ctypes.byref(device), 0)
call('cuDevicePrimaryCtxRetain', ctypes.byref(context), device)
call('cuCtxSetCurrent', context)
"""
FILL = """
pointer = ctypes.c_ulonglong()
call('cuMemAlloc_v2', ctypes.byref(pointer), ctypes.c_size_t(4096))
call('cuMemsetD8_v2', pointer, ctypes.c_ubyte(int(sys.argv[1])), ctypes.c_size_t(4096))
call('cuCtxSynchronize')
"""
READ = """
back = (ctypes.c_ubyte * 4096)()
call('cuMemcpyDtoH_v2', back, pointer, ctypes.c_size_t(4096))
print(sorted(set(back)), flush=True)
"""
EXPORT = """
handle = Handle()
call('cuIpcGetMemHandle', ctypes.byref(handle), pointer)
print(bytes(handle).hex(), flush=True)
sys.stdin.readline()
"""
OPEN = """
handle = Handle.from_buffer_copy(bytes.fromhex(sys.argv[1]))
pointer = ctypes.c_ulonglong()
call('cuIpcOpenMemHandle_v2', ctypes.byref(pointer), handle, 1)
"""
NEEDED = {"gpu": True, "limits": {"memory_bytes": 8192 * MIB, "processes": 128, "wall_s": 60}}


@pytest.fixture(autouse=True)
def a_gpu_is_here() -> None:
    if not Path("/dev/nvidiactl").exists():
        pytest.skip("no NVIDIA GPU on this machine")


def test_a_program_inside_uses_the_gpu(bench: Bench) -> None:
    result = bench.python(CUDA + FILL + READ, "7", **NEEDED)
    assert result.stdout == b"[7]\n", result


def test_without_asking_there_is_no_gpu(bench: Bench) -> None:
    result = bench.python(CUDA + FILL + READ, "7")
    assert b"[7]" not in result.stdout


def test_memory_of_the_judge_is_seen_inside(bench: Bench) -> None:
    outside = subprocess.Popen(
        [sys.executable, "-c", CUDA + FILL + EXPORT, "9"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert outside.stdout is not None
    handle = outside.stdout.readline().decode().strip()
    result = bench.python(CUDA + OPEN + READ, handle, **NEEDED)
    outside.communicate(b"\n")
    assert result.stdout == b"[9]\n", result


def test_memory_from_inside_is_seen_by_the_judge(bench: Bench) -> None:
    held = bench.start(CUDA + FILL + EXPORT, "5", **NEEDED)
    handle = held.stdout.readline().decode().strip()
    outside = subprocess.run(
        [sys.executable, "-c", CUDA + OPEN + READ, handle], capture_output=True, text=True
    )
    held.close()
    assert outside.stdout == "[5]\n", (handle, outside)
