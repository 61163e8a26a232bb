"""What must never be trained on, and how a draft of it is recognised.

A draft is refused for any of: its family is held out; its task is; its formula is that of a held-out task;
its task computes what a held-out one does (up to a factor, on drawn numbers, in any order of the inputs); its
code, names and layout aside, is that of a kernel of a held-out task; its PTX is. The first five are known
before the judge is asked. Modules are compared by their text and by running them. Guarantees nothing about
kernels that compute a held-out task by another algorithm for another task: the numbers show tasks, not
by-products.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coding_framework.cuda.inputs import draw_inputs
from coding_framework.cuda.task_identity import smallest_shape
from coding_framework.data.pairs.normal_code import normal_code, normal_ptx
from coding_framework.data.sources.module_as_task import computes
from coding_framework.data.sources.module_text import normal_module
from coding_framework.data.sources.module_traces import trace_modules
from coding_framework.data.sources.multiples import is_multiple
from coding_framework.data.sources.protocol import KnownKernel
from coding_framework.data.sources.trace_memory import ModuleTrace
from coding_framework.data.tasks import HELD_OUT_FAMILIES, all_tasks, get_task, variants
from coding_framework.data.templates.catalogue_keys import formula_key, held_out_keys
from coding_framework.records import CompilationResult, ModuleTask, Task

_SEED = 20_011
_MAX_PERMUTED = 4
"""Inputs of one shape beyond which only their own order is compared."""


class HeldOut:
    """The held-out families and tasks, with every kernel of theirs."""

    def __init__(
        self,
        exclude: Collection[str],
        compile_source: Callable[[str], CompilationResult] | None = None,
        *,
        others: Sequence[Task | ModuleTask] = (),
        families: frozenset[str] = HELD_OUT_FAMILIES,
        kernels: Sequence[KnownKernel] = (),
    ) -> None:
        """`exclude` names tasks of the catalogue; `others` are of other sources, `kernels` answer them."""
        named = frozenset(get_task(name).name for name in exclude)
        self.task_names = named | {task.name for task in others}
        self.families = families
        self.keys = held_out_keys(named) if families else frozenset(formula_key(name) for name in named)
        self.modules = tuple(task for task in others if isinstance(task, ModuleTask))
        self._others = tuple(task for task in others if isinstance(task, Task))
        self._known = tuple(kernels)
        self._compile = compile_source
        self._computes: dict[str, str | None] = {}
        self._traces: Mapping[str, ModuleTrace] | None = None

    @classmethod
    def of(cls, exclude: Collection[str] | HeldOut) -> HeldOut:
        """Names of the catalogue, or a set that is there already."""
        return exclude if isinstance(exclude, HeldOut) else cls(exclude)

    @cached_property
    def tasks(self) -> tuple[Task, ...]:
        """Every task that is held out, alone or with its family; modules aside."""
        catalogue = (t for t in all_tasks() if t.family in self.families or t.name in self.task_names)
        return (*catalogue, *self._others)

    @cached_property
    def module_forms(self) -> Mapping[str, str]:
        """Normal form of each module's text → its name."""
        return {normal_module(task.source): task.name for task in self.modules}

    @property
    def module_traces(self) -> Mapping[str, ModuleTrace]:
        """What the held-out modules compute; they are run on first use."""
        if self._traces is None:
            self._traces = trace_modules(self.modules)
        return self._traces

    def take_traces(self, traces: Mapping[str, ModuleTrace]) -> None:
        """What the held-out modules compute, from whoever ran them already."""
        self._traces = {task.name: traces[task.name] for task in self.modules}

    @cached_property
    def codes(self) -> Mapping[str, str]:
        """Normal form of each kernel → its task."""
        known = {normal_code(one.candidate.source): one.task for one in self._known}
        return known | {normal_code(source): task.name for task, source in self._kernels()}

    @cached_property
    def compiled(self) -> Mapping[str, str]:
        """Normal form of each kernel's PTX → its task; compiled on first use."""
        assert self._compile is not None, "this set of held-out tasks was made without a compiler"
        results = ((task.name, self._compile(source)) for task, source in self._kernels())
        return {normal_ptx(result.ptx): name for name, result in results if result.ptx}

    def _kernels(self) -> Iterable[tuple[Task, str]]:
        for task in self.tasks:
            yield task, task.baseline
            if all(task is not other for other in self._others):
                yield from ((task, variant.source) for variant in variants(task.name))

    def warm_up(self) -> None:
        """Read and compile every kernel of the held-out tasks now."""
        _ = self.codes, self.compiled

    def allows(self, task: Task, formula: str) -> bool:
        """Whether pairs of this task may be drafted at all."""
        return self.why_not_task(task, formula) is None

    def allows_kernel(self, task: Task, formula: str, source: str) -> bool:
        """Whether this kernel may answer for this task."""
        return self.allows(task, formula) and self.why_not_code(source) is None

    def why_not_task(self, task: Task, formula: str) -> str | None:
        """The reason in words, or None."""
        if task.family in self.families:
            return f"family {task.family} is held out"
        if task.name in self.task_names:
            return f"task {task.name} is held out"
        if formula in self.keys:
            return f"formula {formula} is that of a held-out task"
        if task.name not in self._computes:
            self._computes[task.name] = self._same_as(task)
        same = self._computes[task.name]
        return f"it computes what {same} computes, which is held out" if same else None

    def _same_as(self, task: Task) -> str | None:
        found = next((t.name for t in self.tasks if computes_the_same(task, t)), None)
        traces = self.module_traces.items() if found is None else ()
        return found or next((name for name, trace in traces if computes(trace, task)), None)

    def why_not_module(self, task: ModuleTask) -> str | None:
        """The same for a module, as far as its name and its text tell."""
        if task.family in self.families:
            return f"family {task.family} is held out"
        if task.name in self.task_names:
            return f"task {task.name} is held out"
        form = self.module_forms.get(normal_module(task.source))
        return f"its text is that of {form}, which is held out" if form else None

    def why_not_trace(self, trace: ModuleTrace) -> str | None:
        """The same for what a module computes."""
        same = next(iter(trace.same_as), None)
        same = same or next((task.name for task in self.tasks if computes(trace, task)), None)
        return f"it computes what {same} computes, which is held out" if same else None

    def why_not_code(self, source: str) -> str | None:
        """The same for a kernel's text."""
        name = self.codes.get(normal_code(source))
        return f"its code is that of a kernel of {name}, which is held out" if name else None

    def why_not_ptx(self, ptx: str) -> str | None:
        """The same for what it compiles to."""
        name = self.compiled.get(normal_ptx(ptx))
        return f"its PTX is that of a kernel of {name}, which is held out" if name else None


def computes_the_same(task: Task, other: Task) -> bool:
    """Whether both give the same outputs, up to a factor, for inputs in some order."""
    if len(task.dimensions) != len(other.dimensions) or len(task.inputs) != len(other.inputs):
        return False
    if len(task.outputs) != len(other.outputs):
        return False
    shape = smallest_shape(task)
    drawn = draw_inputs(task, shape, "normal", _SEED)
    inputs = {name: np.asarray(array, dtype=np.float64) for name, array in drawn.items()}
    if any(spec.dtype not in ("float32", "float16") for spec in (*task.inputs, *other.inputs)):
        return False  # raw bits and integers: such tasks are told apart by family, formula and code
    expected = list(task.oracle(np, inputs, shape).values())
    sizes = dict(zip(other.dimensions, shape.values(), strict=True))
    return any(_agrees(other, sizes, order, expected) for order in _orders(list(inputs.values())))


def _orders(arrays: list[NDArray[Any]]) -> Iterable[tuple[NDArray[Any], ...]]:
    return permutations(arrays) if len(arrays) <= _MAX_PERMUTED else (tuple(arrays),)


def _agrees(
    other: Task, sizes: dict[str, int], arrays: tuple[NDArray[Any], ...], expected: list[NDArray[Any]]
) -> bool:
    given = dict(zip((spec.name for spec in other.inputs), arrays, strict=True))
    if any(array.shape != spec.extents(sizes) for spec, array in zip(other.inputs, arrays, strict=True)):
        return False
    with np.errstate(all="ignore"):
        found = list(other.oracle(np, given, sizes).values())
    return all(is_multiple(np.asarray(a), np.asarray(b)) for a, b in zip(expected, found, strict=True))
