"""No spelling of `#include` reaches a file of the host: compared with what NVRTC really does."""

from __future__ import annotations

from pathlib import Path

import pytest
from cuda.bindings import nvrtc

from coding_framework.cuda.toolchain.source_scan import find_source_faults

KERNEL = '\nextern "C" __global__ void k(float* x) { x[0] = 1; }\n'
MARK = "SEEN_IN_THE_OTHER_FILE"
INCLUDE = '#include "{path}"'
READ_BY_NVRTC = {
    "plain": INCLUDE,
    "angled": "#include <{path}>",
    "backslash and blank at the end of a comment": "// x \\ \n" + INCLUDE,
    "split word": '#inc\\\nlude "{path}"',
    "split word with carriage return": '#inc\\\r\nlude "{path}"',
    "form feed": "\f" + INCLUDE,
    "vertical tab": "\v" + INCLUDE,
    "digraph": '%:include "{path}"',
    "comment after the hash": '# /* a\n */ include "{path}"',
    "comment before": '/* a\n */ #include "{path}"',
    "comment in a comment line": "/* x\n# y */ " + INCLUDE,
    "macro": '#define Q "{path}"\n#include Q',
    "apostrophe in a skipped group": "#if 0\n ' /*\n#endif\n" + INCLUDE + "\n// */",
    "quote in a skipped group": '#if 0\n " /*\n#endif\n' + INCLUDE + "\n// */",
    "apostrophe in a pragma": "#pragma foo don't /*\n" + INCLUDE + "\n// */",
    "apostrophe in a definition": "#define X don't /*\n" + INCLUDE + "\n// */",
    "comment sign in a header's name": "#if __has_include(</*>)\n#endif\n" + INCLUDE + "\n//*/",
    "comment sign in a string": 'const char* a = "/*";\n' + INCLUDE + "\n// */",
    "comment sign in a raw string": 'const char* a = R"(/*)";\n' + INCLUDE + "\n// */",
    "a name that ends in R": '#define fooR\nconst char* a = fooR"(";\n' + INCLUDE + '\n/* )" */',
    "quote as a character": "char a = '\"'; /*\n*/\n" + INCLUDE + '\n//"',
    "UTF-8 character": "int a = u8'a'; /*'*/\n" + INCLUDE + "\n//*/",
    "separated digits": "int a = 1'000'000; /*'*/\n" + INCLUDE + "\n//*/",
    "comment sign split in two": "/\\\n/ /*\n" + INCLUDE + "\n// */",
    "comment end split in two": "/* x *\\\n/\n" + INCLUDE + "\n/* */",
    "question about a file": '#if __has_include("{path}")\n#error ' + MARK + "\n#endif",
}


def nvrtc_sees_the_mark(source: str) -> bool:
    _, program = nvrtc.nvrtcCreateProgram(source.encode(), b"kernel.cu", 0, [], [])
    nvrtc.nvrtcCompileProgram(program, 1, [b"--gpu-architecture=compute_90"])
    _, size = nvrtc.nvrtcGetProgramLogSize(program)
    log = bytes(size)
    nvrtc.nvrtcGetProgramLog(program, log)
    nvrtc.nvrtcDestroyProgram(program)
    return MARK.encode() in log


@pytest.mark.parametrize("name", READ_BY_NVRTC)
def test_what_nvrtc_would_read_is_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / "harmless.h"
    path.write_text(f"#error {MARK}\n")
    source = READ_BY_NVRTC[name].replace("{path}", str(path)) + KERNEL
    assert nvrtc_sees_the_mark(source)
    assert any("#include" in fault.message for fault in find_source_faults(source))


@pytest.mark.parametrize(
    "source",
    [
        "#include <cuda_fp16.h> /* halves */",
        '/*\n#include "/etc/passwd"\n*/',
        '/* it is\n * #include "../x.h"\n */',
        "#ifdef __has_include\n#if __has_include(<cuda_bf16.h>)\n#include <cuda_bf16.h>\n#endif\n#endif",
        "#if defined(__has_include) && __has_include(<mma.h>)\n#endif",
        "#define SUM(a, b) \\\n  ((a) + (b))\n#include <mma.h>",
        "int includes = 3; // don't #include anything",
    ],
)
def test_honest_sources_pass(source: str) -> None:
    assert find_source_faults(source + KERNEL) == ()


def test_the_line_is_that_of_the_source_however_lines_are_joined() -> None:
    (fault,) = find_source_faults('#define A \\\n 1\n// x \\\n y\n\n#include "/etc/passwd"\n' + KERNEL)
    assert fault.line == 6
    assert fault.source_line == '#include "/etc/passwd"'
