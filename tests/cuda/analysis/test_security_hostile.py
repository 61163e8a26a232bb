"""Hostile sources, each with the rule that must refuse it."""

from __future__ import annotations

import pytest

from coding_framework.cuda.analysis.security import SecurityValidator
from coding_framework.records import Contract, Severity

KERNEL = 'extern "C" __global__ void k(float* x, int n) {{ {} }}'

EXTENSION_CODE = [
    ("process", 'system("ls");'),
    ("process", '::system("ls");'),
    ("process", 'std::system("ls");'),
    ("process", 'auto run = &system; run("ls");'),
    ("process", 'int (*run)(const char*) = system; run("ls");'),
    ("process", "if (fork() == 0) {}"),
    ("process", 'execl("/bin/sh", "sh", nullptr);'),
    ("process", 'FILE* f = popen("ls", "r");'),
    ("process", "posix_spawn(&pid, path, nullptr, nullptr, argv, environ);"),
    ("process", 'float system = 1; ::system("ls");'),
    ("file-access", 'FILE* f = fopen("/etc/passwd", "r");'),
    ("file-access", 'int f = open("/etc/passwd", 0);'),
    ("file-access", 'std::ifstream f("/etc/passwd");'),
    ("file-access", 'using namespace std; ofstream f("result.json");'),
    ("file-access", 'for (auto& e : std::filesystem::directory_iterator("/")) {}'),
    ("file-access", 'namespace fs = std::filesystem; fs::remove("x");'),
    ("network", "int s = socket(2, 1, 0);"),
    ("network", "connect(s, address, 16);"),
    ("network", "getaddrinfo(host, port, nullptr, &result);"),
    ("memory-mapping", "void* p = mmap(nullptr, 4096, 7, 34, -1, 0);"),
    ("memory-mapping", "mprotect(page, 4096, 7);"),
    ("memory-mapping", 'shm_open("/x", 2, 0600);'),
    ("dynamic-loading", 'void* h = dlopen("libcuda.so", 1);'),
    ("dynamic-loading", 'dlsym(nullptr, "cudaEventElapsedTime");'),
    ("dynamic-loading", "cuModuleLoadData(&module, image);"),
    ("process-control", "ptrace(0, 0, 0, 0);"),
    ("process-control", "kill(getppid(), 9);"),
    ("process-control", "signal(14, handler);"),
    ("process-control", "syscall(59, path, 0, 0);"),
    ("environment", 'setenv("LD_PRELOAD", "x.so", 1);'),
    ("process-exit", "_exit(0);"),
    ("process-exit", "std::atexit(finish);"),
    ("threads", "std::thread t([] {}); t.detach();"),
    ("threads", "auto later = std::async(work);"),
    ("threads", "pthread_create(&t, nullptr, f, nullptr);"),
    ("threads", "cudaLaunchHostFunc(stream, f, nullptr);"),
    ("threads", "cuStreamAddCallback(stream, f, nullptr, 0);"),
    ("threads", "cudaGraphAddHostNode(&node, graph, nullptr, 0, &with);"),
    ("threads", "at::launch([] {});"),
    ("threads", "using namespace std; using worker = thread; worker w(f);"),
    ("threads", "typedef std::thread worker; worker w(f);"),
    ("hidden-scope", "namespace s = std; s::thread t(f);"),
    ("hidden-scope", "namespace s = ::std; s::system(0);"),
    ("python-from-native", 'PyRun_SimpleString("import os");'),
    ("python-from-native", 'py::exec("import os");'),
    ("python-from-native", 'auto gc = py::module_::import("gc");'),
    ("python-from-native", 'namespace q = pybind11; q::exec("import os");'),
    ("python-from-native", 'using namespace pybind11; exec("import os");'),
    ("python-from-native", 'using pybind11::module_; module_::import("os");'),
    ("python-from-native", 'py::cast(x).attr("__class__");'),
    ("profiler-interface", "if (torch::profiler::impl::profilerEnabled()) return x;"),
    ("profiler-interface", "torch::autograd::profiler::disableProfiler();"),
    ("profiler-interface", "libkineto::api().isProfilerInitialized();"),
    ("foreign-memory", "cudaIpcOpenMemHandle(&p, handle, 1);"),
    ("other-context", "cuCtxCreate_v4(&context, 0, 0, device);"),
    ("other-context", "cuDevicePrimaryCtxRetain(&context, device);"),
    ("profiler-interface", "cuptiActivityDisable(kind);"),
    ("inline-assembly", 'asm volatile("syscall");'),
    ("inline-assembly", '__asm__("rdtsc");'),
]

KERNEL_CODE = [
    ("inline-assembly", 'asm volatile("call (r), printf, (p);");'),
    ("inline-assembly", 'asm volatile("\\x63all.uni f;");'),
    ("inline-assembly", 'asm volatile("ca" "ll f;");'),
    ("inline-assembly", 'asm volatile("ld.global.f32 %0, [0x7f0000001000];" : "=f"(v));'),
    ("inline-assembly", 'asm volatile("{ .global .u32 state; }");'),
    ("inline-assembly", 'asm volatile(R"(.file 1 "/etc/passwd")");'),
    ("inline-assembly", 'asm(".incbin \\"/etc/passwd\\"");'),
    ("inline-assembly", 'asm volatile(".%0 1 9 0" :: "C"(word));'),
    ("inline-assembly", 'asm volatile(".%1 1 9 0" : "=r"(n) : " C" (word), "r"(n) : "memory");'),
    ("inline-assembly", 'asm volatile(".%0 1 9 0" :: "" "C"(word));'),
    ("inline-assembly", 'asm volatile(".%[w] 1 9 0" :: [w] "C"(word));'),
    ("inline-assembly", 'asm volatile(".%0 1 9 0" :: "\\103"(word));'),
    ("inline-assembly", '#define HOW "C"\nasm volatile(".%0 1 9 0" :: HOW(word));'),
    ("inline-assembly", 'asm volatile(".loc 1 9 0" :: R"(r)"(n));'),
    ("raw-address", "float* p = (float*)0x7f0000001000ULL; x[0] = *p;"),
    ("raw-address", "x[0] = *reinterpret_cast<float*>(0x7f0000001000);"),
    ("raw-address", "x[0] = *(float*)(uintptr_t)(0x7f00 << 16);"),
    ("raw-address", "unsigned long long a = 0x7f0000001000; x[0] = *(float*)a;"),
    ("raw-address", "void (*f)(int) = (void (*)(int))0x1000; f(1);"),
    ("device-state", "static __device__ float memo[65536]; x[0] = memo[0];"),
    ("process", 'system("ls");'),
]

WHOLE_SOURCES = [
    ("include", '#include "/etc/passwd"'),
    ("include", "#include </proc/self/maps>"),
    ("include", '#include "../../secrets.h"'),
    ("include", '#include "expected.json"'),
    ("include", "#define FILE_NAME <a>\n#include FILE_NAME"),
    ("include", "#include __FILE__"),
    ("include", '#inc\\\nlude "/etc/passwd"'),
    ("include", '%:include "/etc/passwd"'),
    ("include", '# /* x */ include "/etc/passwd"'),
    ("include", 'const char data[] = {\n#embed "/etc/passwd"\n};'),
    ("include-probe", '#if __has_include("/root/.ssh/id_rsa")\n#endif'),
    ("include-probe", "#if __has_include(NAME)\n#endif"),
    ("line-directive", '#line 1 "judge.cu"'),
    ("line-directive", '# 12 "judge.cu"'),
    ("pragma", "#pragma redefine_extname cudaEventRecord mine"),
    ("pragma", "#pragma weak clock_gettime"),
    ("pragma", '#pragma push_macro("f")'),
    ("pragma", '_Pragma("weak clock_gettime")'),
    ("redefined-word", "#define __global__ static"),
    ("redefined-word", "#define return throw"),
    ("redefined-word", "#define cudaGetErrorString(x) x"),
    ("redefined-word", "#define cudaPeekAtLastError() 0"),
    ("redefined-word", "#define cudaEventRecord(...) 0"),
    ("macro-hides-name", "#define run system"),
    ("macro-hides-name", "#define RUN(x) do { dlsym(0, x); } while (0)"),
    ("token-pasting", '#define CAT(a, b) a##b\nvoid f() { CAT(sys, tem)("ls"); }'),
    (
        "token-pasting",
        "#define CAT(a, b) a##b\n#define CAT2(a, b) CAT(a, b)\n#define X fo\nvoid f() { CAT2(X, rk)(); }",
    ),
    ("token-pasting", '#define CAT(a, b) a##b\n#define C CAT\nvoid f() { C(po,\npen)("ls", "r"); }'),
    ("token-pasting", "#define CAT(a, b) a %:%: b\nvoid f() { CAT(fo, rk)(); }"),
    ("token-pasting", "#define CAT(...) f##__VA_ARGS__\nvoid f() { CAT(ork)(); }"),
    ("token-pasting", 'void f() { __CONCAT(sys, tem)("ls"); }'),
    ("token-pasting", "#define S(x) sys##x"),
    (
        "token-pasting",
        '#define C(a) sys##a\n#ifdef Y\n#define C(a) ok##a\n#endif\nvoid f() { C(tem)("ls"); }',
    ),
    ("macro-expansion", "".join(f"#define A{i + 1} A{i} A{i}\n" for i in range(40)) + "A40"),
    ("trigraph", "??=define x 1"),
    ("trigraph", 'const char* s = "??/"; int a; // "'),
    ("escaped-name", 'void f() { \\u0073ystem("ls"); }'),
    ("process", 'void f() { sys\\\ntem("ls"); }'),
    ("raw-string", 'const char* s = R"(\\\n)";'),
    ("no-text", "int a\0b;"),
    ("attribute", "__attribute__((constructor)) void f() {}"),
    ("attribute", '__attribute__((section(".init_array"))) void (*p)() = f;'),
    ("attribute", "[[gnu::constructor]] void f() {}"),
    ("attribute", 'int clock_gettime(int, void*) __attribute__((weak, alias("mine")));'),
    ("interposition", 'extern "C" int clock_gettime(int c, timespec* t) { return 0; }'),
    ("interposition", 'extern "C" { cudaError_t cudaEventElapsedTime(float* m, cudaEvent_t a) { *m = 0; } }'),
    ("file-access", 'extern "C" int open(const char*, int);'),
    ("inline-assembly", 'asm(".globl clock_gettime");'),
    ("device-state", "__device__ float memo[1 << 20];\n" + KERNEL.format("x[0] = memo[0];")),
    ("device-state", "constexpr int N = 4096;\n__device__ float4 memo[N][2];"),
    ("device-state", "__device__ float a[9000];\n__device__ float b[9000];"),
]


def fired(source: str, contract: Contract, severity: Severity = "critical") -> set[str]:
    report = SecurityValidator().validate(source, contract=contract)
    assert report.is_safe == (not report.critical)
    return {finding.rule for finding in report.findings if finding.severity == severity}


def test_what_stands_in_an_attribute_stays_in_sight() -> None:
    """Attributes of kernels that the grammar does not know are passed over; nothing can be hidden there."""
    source = "#define __maxnreg__(x) x\nvoid f() { __maxnreg__(dlopen)(name, 1); }"
    assert "dynamic-loading" in fired(source, "extension")


@pytest.mark.parametrize(("rule", "code"), EXTENSION_CODE)
def test_hostile_host_code_is_refused(rule: str, code: str) -> None:
    source = (
        f"#include <torch/extension.h>\ntorch::Tensor forward(torch::Tensor x) {{\n{code}\nreturn x;\n}}\n"
    )
    assert rule in fired(source, "extension")


@pytest.mark.parametrize(("rule", "code"), KERNEL_CODE)
def test_hostile_kernel_code_is_refused(rule: str, code: str) -> None:
    assert rule in fired(KERNEL.format(code), "kernel")


@pytest.mark.parametrize(("rule", "source"), WHOLE_SOURCES)
def test_hostile_sources_are_refused(rule: str, source: str) -> None:
    assert rule in fired(source + "\n" + KERNEL.format("x[0] = n;"), "kernel")


@pytest.mark.parametrize(
    ("rule", "code"),
    [
        ("side-stream", "cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);"),
        ("cuda-graph", "cudaGraphLaunch(graph, stream);"),
        ("self-timing", "cudaEventElapsedTime(&ms, a, b);"),
        ("environment-read", 'getenv("PHASE");'),
        ("raw-address", "float* p = (float*)0x7f0000001000ULL;"),
    ],
)
def test_doubtful_host_code_is_a_warning(rule: str, code: str) -> None:
    assert rule in fired(f"void f() {{ {code} }}", "extension", "warning")


@pytest.mark.parametrize(
    ("rule", "source"),
    [
        ("static-initialiser", "static int loaded = prepare();"),
        ("interposition", "static cudaError_t cudaEventRecord(int e) { return e; }"),
    ],
)
def test_doubtful_globals_are_warnings(rule: str, source: str) -> None:
    assert rule in fired(source, "extension", "warning")


@pytest.mark.parametrize(
    ("rule", "code"),
    [
        ("inline-assembly", 'unsigned long long t; asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));'),
        ("inline-assembly", 'asm volatile("trap;");'),
    ],
)
def test_clocks_and_traps_in_assembly_are_warnings(rule: str, code: str) -> None:
    source = KERNEL.format(code)
    assert rule in fired(source, "kernel", "warning")
    assert not fired(source, "kernel")


@pytest.mark.parametrize(
    ("rule", "source"),
    [
        ("device-state", "__device__ unsigned int count = 0;"),
        ("host-header", "#include <unistd.h>"),
        ("digraph", "int a<:3:>;"),
        ("split-name", "int cou\\\nnt;"),
        ("invisible-character", "int a\u200b;"),
        ("token-pasting", "#define NAME(x) kernel_##x"),
        ("pragma", "#pragma whatever"),
    ],
)
def test_doubtful_lines_are_warnings_only(rule: str, source: str) -> None:
    assert rule in fired(source, "kernel", "warning")
    assert not fired(source, "kernel")


def test_an_unknown_header_is_an_error_that_the_compiler_decides() -> None:
    assert fired('#include "my_helpers.h"\n', "kernel", "error") == {"unknown-header"}


def test_a_finding_names_the_line_and_what_to_do() -> None:
    report = SecurityValidator().validate('// one\n\nvoid f() {\n  system("x");\n}\n', contract="extension")
    (finding,) = report.findings
    assert (finding.line, finding.rule, finding.category) == (4, "process", "security")
    assert "system" in finding.reason
    assert finding.suggestion
    assert report.risk_score >= 0.9


def test_a_name_behind_a_macro_is_found_on_the_line_of_its_use() -> None:
    source = "#define RUN(f) \\\n  f##k()\n/* two\nlines */\nvoid g() {\n  RUN(for);\n}\n"
    lines = {f.line for f in SecurityValidator().validate(source, contract="extension").critical}
    assert lines == {6}
