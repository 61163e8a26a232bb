"""Ways of not solving a task. Every one must fail at least one check, or the task is unsound.

blind        answers without looking at the inputs: constants, the mean of right answers to other draws
copying      hands back an input, stretched or cut to the output's size
forgetful    leaves out an input, the last element, or what is left over after whole vectors
narrow       right, but in fewer bits than the task asks for (see `formats`)

They write outputs with NumPy and need no kernel; what they write is compared as a kernel's outputs are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from coding_framework.cuda.lint.formats import NARROWER, Floats, NarrowFormat, rounded_array
from coding_framework.cuda.lint.situation import Situation
from coding_framework.records import Task, TensorSpec

Answers = Mapping[str, Floats]
Strategy = Callable[[Situation], Answers]
CONSTANTS = (0.0, 1.0, -1.0, 0.5)
NUM_OTHER_DRAWS = 16
VECTOR_WIDTHS = (2, 4, 32)

_BLIND = "the result hardly depends on the inputs: draw them wider, or tighten the tolerance"
_COPYING = "the result is an input within the budget: draw other inputs, or tighten the tolerance"
_FORGOTTEN = "that input has too little effect: draw it wider, or tighten the tolerance"
_LAST = "one element has too little effect: tighten the tolerance, or add shorter hidden shapes"
_TAIL = "no checked shape has such a remainder: add hidden shapes that are not multiples of {width}"
_NARROW = "the budget hides a downcast: tighten the tolerance, or draw values that need more bits"


@dataclass(frozen=True)
class Adversary:
    """One way of not solving a task."""

    name: str
    strategy: Strategy
    remedy: str
    """What to change in a task that it passes."""


def adversaries_for(task: Task) -> tuple[Adversary, ...]:
    """Every adversary that makes sense for the task."""
    return (*_blind(), *_copying(task), *_forgetful(task), *_narrow(task))


def _blind() -> list[Adversary]:
    found = [Adversary(f"writes {value:g}", partial(_constant, value), _BLIND) for value in CONSTANTS]
    return [
        *found,
        Adversary("writes the best constant", _best_constant, _BLIND),
        Adversary("writes the mean of other answers", _mean_of_others, _BLIND),
        Adversary("writes the answer to another draw", _answer_to_another, _BLIND),
        Adversary("writes the mean of the inputs", _mean_of_inputs, _BLIND),
    ]


def _copying(task: Task) -> list[Adversary]:
    return [Adversary(f"copies {spec.name}", partial(_copy, spec.name), _COPYING) for spec in task.inputs]


def _forgetful(task: Task) -> list[Adversary]:
    found = [Adversary("leaves the last element at 0", _last_output_missing, _LAST)]
    for spec in task.inputs:
        found.append(
            Adversary(
                f"skips the last element of {spec.name}", partial(_last_input_missing, spec.name), _LAST
            )
        )
        if len(task.inputs) > 1:
            found += [
                Adversary(
                    f"takes {spec.name} for {value:g}", partial(_input_ignored, spec.name, value), _FORGOTTEN
                )
                for value in (0.0, 1.0)
            ]
    for width in VECTOR_WIDTHS:
        name = f"drops the remainder of rows after vectors of {width}"
        found.append(Adversary(name, partial(_remainder_dropped, width), _TAIL.format(width=width)))
    return found


def _narrow(task: Task) -> list[Adversary]:
    """A downcast is one only where the array has more bits than the format."""
    found = [
        Adversary(f"rounds inputs to {narrow.name}", partial(_narrow_inputs, narrow), _NARROW)
        for narrow in _formats_below(task.inputs)
    ]
    for narrow in _formats_below(task.outputs):
        found += [
            Adversary(f"rounds outputs to {narrow.name}", partial(_narrow_outputs, narrow), _NARROW),
            Adversary(f"computes in {narrow.name}", partial(_narrow_everything, narrow), _NARROW),
        ]
    return found


def _formats_below(specs: Sequence[TensorSpec]) -> tuple[NarrowFormat, ...]:
    return tuple(dict.fromkeys(narrow for spec in specs for narrow in NARROWER[spec.dtype]))


def _constant(value: float, situation: Situation) -> Answers:
    return {name: np.full(extents, value) for name, extents in situation.extents().items()}


def _best_constant(situation: Situation) -> Answers:
    """The middle of the true range: no constant has a smaller largest error."""
    truth = situation.solve(situation.inputs)
    return {name: np.full(a.shape, (a.min() + a.max()) / 2) for name, a in truth.items()}


def _mean_of_others(situation: Situation) -> Answers:
    answers = list(situation.others(NUM_OTHER_DRAWS))
    return {name: np.mean([a[name] for a in answers], axis=0) for name in answers[0]}


def _answer_to_another(situation: Situation) -> Answers:
    return next(situation.others(1))


def _mean_of_inputs(situation: Situation) -> Answers:
    mean = float(np.mean([array.mean() for array in situation.inputs.values()]))
    return _constant(mean, situation)


def _copy(name: str, situation: Situation) -> Answers:
    return {out: _stretched(situation.inputs[name], extents) for out, extents in situation.extents().items()}


def _stretched(values: Floats, extents: tuple[int, ...]) -> Floats:
    """As it lies in memory where the sizes agree, else broadcast, else repeated or cut."""
    if values.size == np.prod(extents):
        return values.reshape(extents)
    for shape in (values.shape, (*values.shape, 1)):
        try:
            return np.broadcast_to(values.reshape(shape), extents)
        except ValueError:
            continue
    return np.resize(values, extents)


def _last_output_missing(situation: Situation) -> Answers:
    answers = {name: array.copy() for name, array in situation.solve(situation.inputs).items()}
    for array in answers.values():
        array.flat[-1] = 0.0
    return answers


def _last_input_missing(name: str, situation: Situation) -> Answers:
    shorter = situation.inputs[name].copy()
    shorter.flat[-1] = 0.0
    return situation.solve({**situation.inputs, name: shorter})


def _input_ignored(name: str, value: float, situation: Situation) -> Answers:
    return situation.solve({**situation.inputs, name: np.full_like(situation.inputs[name], value)})


def _remainder_dropped(width: int, situation: Situation) -> Answers:
    cut = {name: array.copy() for name, array in situation.inputs.items()}
    for array in cut.values():
        array[..., array.shape[-1] // width * width :] = 0.0
    return situation.solve(cut)


def _narrow_inputs(narrow: NarrowFormat, situation: Situation) -> Answers:
    return situation.solve(_rounded(narrow, situation.task.inputs, situation.inputs))


def _narrow_outputs(narrow: NarrowFormat, situation: Situation) -> Answers:
    return _rounded(narrow, situation.task.outputs, situation.solve(situation.inputs))


def _rounded(narrow: NarrowFormat, specs: Sequence[TensorSpec], arrays: Answers) -> Answers:
    return {
        spec.name: narrow.round(arrays[spec.name]) if narrow in NARROWER[spec.dtype] else arrays[spec.name]
        for spec in specs
    }


def _narrow_everything(narrow: NarrowFormat, situation: Situation) -> Answers:
    return situation.solve({name: rounded_array(array, narrow) for name, array in situation.inputs.items()})
