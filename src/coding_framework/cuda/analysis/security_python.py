"""Security rules for Python candidates (contract `module`), on Python's own syntax tree.

Names are resolved through imports and aliases, not through data flow; a module that is handed on as a
value, where that would be needed, is refused. CUDA and C++ sources in string literals go through the
CUDA rules. Never raises: a source that does not parse gives one finding.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Iterator

from coding_framework.cuda.analysis.findings import security
from coding_framework.cuda.analysis.python_names import Names, parts_within
from coding_framework.cuda.analysis.python_rules import (
    BAD_COMPILER_FLAGS,
    FINE_ENVIRONMENT,
    FORBIDDEN_ATTRIBUTES,
    FORBIDDEN_BUILTINS,
    REFLECTION,
    rule_for,
)
from coding_framework.records import Contract, Finding, Severity

CudaRules = Callable[[str, Contract], Iterator[Finding]]
_SOURCE_MARKS = ("__global__", "#include", "PYBIND11_MODULE", "torch::Tensor", "at::Tensor")
_PRIVATE_PATHS = ("/proc", "/etc", "/dev", "/sys", "/root", "/home", "~")


def python_findings(source: str, cuda_rules: CudaRules) -> Iterator[Finding]:
    """Everything suspicious in a Python source."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
    except (SyntaxError, ValueError) as error:
        line = max(error.lineno or 1, 1) if isinstance(error, SyntaxError) else None
        yield security("unparsable", "error", line, "it is not valid Python.", "Hand in valid Python.")
        return
    except (RecursionError, MemoryError):
        yield security("unparsable", "critical", None, "it is nested too deeply to be read.", "Simplify it.")
        return
    nodes = list(ast.walk(tree))
    names = Names(nodes)
    yield from _imports(names)
    for node in nodes:
        check = _CHECKS.get(type(node))
        if check is not None:
            yield from check(node, names)
    yield from _embedded_sources(nodes, cuda_rules)


def _imports(names: Names) -> Iterator[Finding]:
    for dotted, line in names.imported:
        yield from _by_table(dotted, line)
        if dotted.endswith(".*"):
            reason = f"`{dotted}` brings in names that do not stand in the source."
            yield security("hidden-module", "critical", line, reason, "Import what you use by its name.")
    for dotted, line in names.hidden:
        reason = f"the module `{dotted}` is handed on as a value, which hides what is used of it."
        suggestion = "Use a module by its name: `torch.relu(x)`."
        yield security("hidden-module", "critical", line, reason, suggestion)


def _by_table(dotted: str, line: int) -> Iterator[Finding]:
    rules = (rule_for(name) for name in (dotted, *parts_within(dotted)))
    rule = next((rule for rule in rules if rule is not None), None)
    if rule is not None:
        yield security(rule.rule, rule.severity, line, f"`{dotted}` {rule.reason}.", rule.suggestion)


def _attribute(node: ast.AST, names: Names) -> Iterator[Finding]:
    assert isinstance(node, ast.Attribute)
    if node.attr in FORBIDDEN_ATTRIBUTES:
        reason = f"`.{node.attr}` reaches behind Python's objects."
        yield security("introspection", "critical", node.lineno, reason, "Remove it.")
    if not isinstance(node.ctx, ast.Load):
        yield from _attribute_target(node, names)
    dotted = names.dotted(node)
    if dotted is not None:
        yield from _by_table(dotted, node.lineno)
        if node.attr == "__dict__":
            reason = f"`{dotted}` reaches names by their text."
            yield security("introspection", "critical", node.lineno, reason, "Use the names themselves.")


def _name(node: ast.AST, names: Names) -> Iterator[Finding]:
    assert isinstance(node, ast.Name)
    if node.id in names.defined:
        return
    if node.id in ("__cuda_array_interface__", "__array_interface__", "__del__"):
        reason = f"`{node.id}` makes Python do more than stands in forward()."
        yield security("native-access", "critical", node.lineno, reason, "Use the tensors that were given.")
    elif node.id in ("__builtins__", "exec", "eval", "__import__"):
        reason = f"`{node.id}` runs code that does not stand in the source."
        yield security("code-from-text", "critical", node.lineno, reason, "Write the code itself.")
    elif node.id in ("globals", "locals"):
        reason = f"`{node.id}` reaches names by their text."
        yield security("introspection", "critical", node.lineno, reason, "Use the names themselves.")
    elif node.id in REFLECTION and not names.is_called(node):
        reason = f"`{node.id}` is handed on as a value, which hides what it is used for."
        yield security("hidden-module", "critical", node.lineno, reason, "Use plain attributes.")


def _call(node: ast.AST, names: Names) -> Iterator[Finding]:
    assert isinstance(node, ast.Call)
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    if name in names.defined:
        return
    if name in FORBIDDEN_BUILTINS:
        reason = f"`{name}` runs code that does not stand in the source."
        yield security("code-from-text", "critical", node.lineno, reason, "Write the code itself.")
    elif name == "vars" and not node.args:
        reason = "`vars` of nothing reaches names by their text."
        yield security("introspection", "critical", node.lineno, reason, "Use the names themselves.")
    elif name == "open":
        yield from _open(node)
    elif name in REFLECTION and node.args:
        yield from _by_reflection(node, name, names)
    yield from _compiler_flags(node)


def _open(node: ast.Call) -> Iterator[Finding]:
    given = [*node.args[1:2], *(k.value for k in node.keywords if k.arg == "mode")]
    mode = given[0].value if given and isinstance(given[0], ast.Constant) else "r" if not given else "?"
    path = node.args[0].value if node.args and isinstance(node.args[0], ast.Constant) else ""
    writes = not isinstance(mode, str) or bool(set(mode) & set("wax+?"))
    private = isinstance(path, str) and path.startswith(_PRIVATE_PATHS)
    severity: Severity = "critical" if writes or private else "warning"
    reason = f"`open` {'writes' if writes else 'reads'} a file."
    yield security("file-access", severity, node.lineno, reason, "Keep everything in tensors.")


def _by_reflection(node: ast.Call, name: str, names: Names) -> Iterator[Finding]:
    """`getattr(os, "sys" + "tem")`, `setattr(torch.cuda, "synchronize", f)`."""
    target = names.dotted(node.args[0])
    literal = node.args[1].value if len(node.args) > 1 and isinstance(node.args[1], ast.Constant) else None
    if literal in FORBIDDEN_ATTRIBUTES:
        reason = f"`{literal}` reaches behind Python's objects."
        yield security("introspection", "critical", node.lineno, reason, "Remove it.")
    if target is None:
        if name in ("setattr", "delattr") and _is_foreign_class(node.args[0]):
            yield _class_changed(node.lineno)
        is_open = isinstance(literal, str) or len(node.args) == 1 or names.computed.is_plain(node.args[1])
        if not is_open or any(isinstance(argument, ast.Starred) for argument in node.args):
            reason = f"`{name}` with a name that does not stand in the source hides what is used."
            yield security("introspection", "critical", node.lineno, reason, "Use plain attributes.")
        return
    if name in ("setattr", "delattr", "vars") or not isinstance(literal, str):
        reason = f"`{name}` on the module `{target}` changes or hides what is used of it."
        suggestion = "Use plain attributes, and change nothing of other modules."
        yield security("patching", "critical", node.lineno, reason, suggestion)
    else:
        yield from _by_table(f"{target}.{literal}", node.lineno)


def _compiler_flags(node: ast.Call) -> Iterator[Finding]:
    for keyword in node.keywords:
        if keyword.arg is None or not keyword.arg.startswith("extra_"):
            continue
        for part in ast.walk(keyword.value):
            flag = part.value if isinstance(part, ast.Constant) else None
            if isinstance(flag, str) and flag.startswith(BAD_COMPILER_FLAGS):
                reason = f"the compiler flag `{flag[:40]}` reads files or replaces tools and symbols."
                yield security(
                    "compiler-flag", "critical", node.lineno, reason, "Use plain options such as -O3."
                )


def _attribute_target(target: ast.Attribute, names: Names) -> Iterator[Finding]:
    """`torch.relu = f`, and `for torch.relu in [f]`."""
    dotted = names.dotted(target)
    if dotted is None:
        if _is_foreign_class(target.value):
            yield _class_changed(target.lineno)
        return
    if dotted.startswith("torch.backends.") and not dotted.endswith(("allow_tf32", "precision")):
        reason = f"`{dotted}` is a setting of all of torch."
        yield security("global-setting", "warning", target.lineno, reason, "Leave torch's settings alone.")
    else:
        rule = "global-setting" if "tf32" in dotted or dotted.startswith("torch.backends.") else "patching"
        reason = f"assigning to `{dotted}` changes it for the judge as well."
        suggestion = "Change nothing of other modules; define names of your own."
        yield security(rule, "critical", target.lineno, reason, suggestion)


def _is_foreign_class(node: ast.expr) -> bool:
    """`type(x)`, `x.__class__`: what is changed there is changed for all objects of the kind."""
    match node:
        case ast.Call(func=ast.Name(id="type"), args=[of], keywords=[]) | ast.Attribute(of, "__class__"):
            return not (isinstance(of, ast.Name) and of.id == "self")
    return False


def _class_changed(line: int) -> Finding:
    reason = "changing the class of an object changes it for the judge as well."
    return security("patching", "critical", line, reason, "Define names of your own.")


def _item(node: ast.AST, names: Names) -> Iterator[Finding]:
    assert isinstance(node, ast.Subscript)
    if not isinstance(node.ctx, ast.Load):
        yield from _item_target(node, names)


def _item_target(target: ast.Subscript, names: Names) -> Iterator[Finding]:
    dotted = names.dotted(target.value) or ""
    if dotted == "os.environ":
        key = target.slice.value if isinstance(target.slice, ast.Constant) else None
        if key not in FINE_ENVIRONMENT:
            bad = not isinstance(key, str) or key.startswith(("LD_", "PYTHON", "CUDA_INJECTION"))
            severity: Severity = "critical" if bad else "warning"
            reason = "changes the environment of the process."
            yield security("environment", severity, target.lineno, reason, "Remove it.")
    elif dotted.endswith("__dict__"):
        reason = f"writing into `{dotted}` changes a module for the judge as well."
        yield security("patching", "critical", target.lineno, reason, "Define names of your own.")


def _class(node: ast.AST, names: Names) -> Iterator[Finding]:
    assert isinstance(node, ast.ClassDef)
    for base in node.bases:
        if names.dotted(base) in ("torch.Tensor", "torch._tensor.Tensor", "torch.nn.Parameter"):
            reason = f"`{node.name}` is a tensor of its own kind, which can compute when looked at."
            yield security("tensor-subclass", "critical", node.lineno, reason, "Return plain torch tensors.")


def _function(node: ast.AST, names: Names) -> Iterator[Finding]:
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    if node.name in ("__torch_function__", "__torch_dispatch__"):
        reason = f"`{node.name}` changes what operations on tensors do."
        yield security("tensor-subclass", "critical", node.lineno, reason, "Return plain torch tensors.")
    elif node.name in ("__cuda_array_interface__", "__array_interface__"):
        reason = f"`{node.name}` makes a tensor of memory that is not the candidate's."
        yield security("native-access", "critical", node.lineno, reason, "Use the tensors that were given.")
    elif node.name == "__del__":
        reason = "`__del__` runs when something is thrown away, outside of the call."
        yield security("process-exit", "critical", node.lineno, reason, "Do the work in forward().")


def _try(node: ast.AST, names: Names) -> Iterator[Finding]:
    """A kernel with a way out to the library is no kernel."""
    assert isinstance(node, ast.Try)
    if not any(isinstance(part, ast.Call) for statement in node.body for part in ast.walk(statement)):
        return
    for handler in node.handlers:
        for part in (part for statement in handler.body for part in ast.walk(statement)):
            dotted = names.dotted(part.func) if isinstance(part, ast.Call) else None
            if dotted is not None and dotted.startswith("torch."):
                reason = f"when the kernel fails, `{dotted}` takes its place."
                suggestion = "Let errors through; the kernel must do the work."
                yield security("fallback", "warning", handler.lineno, reason, suggestion)
                break


def _embedded_sources(nodes: list[ast.AST], cuda_rules: CudaRules) -> Iterator[Finding]:
    for node in nodes:
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            continue
        if any(mark in node.value for mark in _SOURCE_MARKS):
            for finding in cuda_rules(node.value, "extension"):
                line = node.lineno + (finding.line or 1) - 1
                yield finding.model_copy(update={"line": line})


def _match_class(node: ast.AST, names: Names) -> Iterator[Finding]:
    """`case object(__globals__=g)` reads an attribute."""
    assert isinstance(node, ast.MatchClass)
    for attribute in node.kwd_attrs:
        if attribute in FORBIDDEN_ATTRIBUTES:
            reason = f"`{attribute}` reaches behind Python's objects."
            yield security("introspection", "critical", node.lineno, reason, "Remove it.")


_CHECKS: dict[type[ast.AST], Callable[[ast.AST, Names], Iterator[Finding]]] = {
    ast.Attribute: _attribute,
    ast.Name: _name,
    ast.Call: _call,
    ast.Subscript: _item,
    ast.ClassDef: _class,
    ast.FunctionDef: _function,
    ast.AsyncFunctionDef: _function,
    ast.Try: _try,
    ast.MatchClass: _match_class,
}
