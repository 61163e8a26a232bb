"""torch's tensors behind the light header: no copies, torch's own allocator, torch's own operations.

A reference (`owner`) is a handle of torch's stable C interface, so allocating and releasing from C++
cost what they cost in torch's own extensions and do not enter Python. Library operations do: about ten
microseconds each. They are torch's dispatcher operations under the same names and argument order as in
C++; the few that differ lie in `torch_ops.py`. Works for CPU and CUDA tensors. Needs the extra `train`
when it is used, not when it is imported.
"""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

from coding_framework.cuda.extension.binding import LoadedExtension
from coding_framework.cuda.extension.tensor_backend import ExtensionCallError, NativeFunctions, TensorHandle
from coding_framework.cuda.extension.torch_ops import TorchOps
from coding_framework.errors import MissingExtraError, NotAvailableError


class TorchBackend:
    """`TensorBackend` over torch; `called_ops` counts the library operations that were asked for."""

    def __init__(self) -> None:
        self._torch = _import_torch()
        self._ops = TorchOps(self._torch)
        self._handles = _handles(self._torch)
        self._library = _c_interface(self._torch)
        self._capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
        self._capsule_pointer.restype = ctypes.c_void_p
        self._capsule_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
        self._new_capsule = ctypes.pythonapi.PyCapsule_New
        self._new_capsule.restype = ctypes.py_object
        self._new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        self.called_ops: Counter[str] = Counter()

    def is_tensor(self, value: object) -> bool:
        return isinstance(value, self._torch.Tensor)

    def acquire(self, tensor: Any) -> TensorHandle:
        (capsule,) = self._handles.unsafe_alloc_void_ptrs_from_tensors([tensor])
        return TensorHandle(
            data=tensor.data_ptr(),
            sizes=tensor.shape,
            strides=tensor.stride(),
            dtype=self._ops.dtype_code(tensor.dtype),
            device_type=1 if tensor.is_cuda else 0,
            device_index=tensor.get_device(),
            owner=self._capsule_pointer(capsule, None),
        )

    def lookup(self, owner: int) -> object:
        """A new reference of Python's own; the C++ one stays."""
        copy = ctypes.c_void_p()
        if self._library.aoti_torch_new_tensor_handle(ctypes.c_void_p(owner), ctypes.byref(copy)) != 0:
            raise ExtensionCallError("the extension gave a tensor that does not exist")
        # The function for one tensor copies instead of stealing, and would leak the handle.
        return self._handles.alloc_tensors_by_stealing_from_void_ptrs([self._new_capsule(copy, None, None)])[
            0
        ]

    def release(self, owner: int) -> None:
        self._library.aoti_torch_delete_tensor_object(ctypes.c_void_p(owner))

    def current_stream(self, device_index: int) -> int:
        if not self._torch.cuda.is_available():
            return 0
        device = None if device_index < 0 else device_index
        return int(self._torch.cuda.current_stream(device).cuda_stream)

    def call_op(self, name: str, args: Sequence[object], kwargs: dict[str, object]) -> object:
        self.called_ops[name] += 1
        return self._ops.call(name, args, kwargs)

    def native_functions(self) -> NativeFunctions:
        return NativeFunctions(
            empty=self._address("aoti_torch_empty_strided"),
            release=self._address("aoti_torch_delete_tensor_object"),
            data_pointer=self._address("aoti_torch_get_data_ptr"),
            zero=self._address("aoti_torch_zero_"),
        )

    def _address(self, name: str) -> int:
        address = ctypes.cast(getattr(self._library, name), ctypes.c_void_p).value
        assert address is not None
        return address


def _import_torch() -> Any:
    try:
        import torch
    except ImportError as error:
        raise MissingExtraError("torch", "train") from error
    return torch


def _handles(torch: Any) -> Any:
    module = getattr(torch._C, "_aoti", None)
    if module is None or not hasattr(module, "unsafe_alloc_void_ptrs_from_tensors"):
        raise NotAvailableError(
            f"torch {torch.__version__} has no stable C interface: install torch 2.6 or later"
        )
    return module


def _c_interface(torch: Any) -> Any:
    """The library with torch's C functions; it is loaded already, this only finds it."""
    return ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"))


def load_function(
    shared_object: str, header: Literal["light", "full"], name: str = "forward", module_name: str = ""
) -> Callable[..., Any]:
    """A callable over torch tensors, whichever header the extension was built with.

    `module_name` is the build's, and is needed for `full` alone. Raises `ExtensionCallError` when the
    module cannot be loaded or has no such function.
    """
    if header == "light":
        return LoadedExtension(shared_object, TorchBackend()).function(name)
    return _full_function(shared_object, name, module_name)


def _full_function(shared_object: str, name: str, module_name: str) -> Callable[..., Any]:
    import importlib.util

    _import_torch()  # its libraries must be there before the module that needs them
    spec = importlib.util.spec_from_file_location(module_name, shared_object)
    if spec is None or spec.loader is None:
        raise ExtensionCallError(f"{shared_object} is no Python module")
    try:
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        function: Callable[..., Any] = getattr(module, name)
    except (ImportError, AttributeError) as error:
        raise ExtensionCallError(str(error)) from error
    return function
