"""Extensions written for the tests; their host code runs over CPU tensors, so that no GPU is needed."""

from __future__ import annotations

from pathlib import Path

_FOLDER = Path(__file__).parent / "sources"

ARCHIVE_STYLE = (_FOLDER / "archive_style.cu").read_text()
HOST_CODE = (_FOLDER / "host_code.cu").read_text()
IDIOMS = (_FOLDER / "idioms.cu").read_text()
TYPED = (_FOLDER / "typed.cu").read_text()
SYNTAX_ERROR = ARCHIVE_STYLE.replace("const int n = x.numel();", "const int n = x.numel()")
UNKNOWN_NAME = ARCHIVE_STYLE.replace("(n + 255) / 256", "(n + BLOCK) / 256")
UNKNOWN_METHOD = ARCHIVE_STYLE.replace("x.numel()", "x.sparse_resize_count()")
NO_MODULE = ARCHIVE_STYLE.split("PYBIND11_MODULE")[0]
