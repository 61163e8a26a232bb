"""The child of `module_traces`: runs modules on the CPU in float64, on small shapes and drawn numbers.

Reads one request from standard input and answers with a JSON line for each module; what a module was given
and what it gave lies in `NUMBER.npz` of the request's folder. Each runs on three draws, and the held-out
modules on the very same numbers: those that give the same are named. It trusts the sources as the judge does
and limits its memory only; time is its parent's business.
"""

from __future__ import annotations

import contextlib
import json
import resource
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from coding_framework.cuda.executors.host.verifier.task_source import execute_source, override_constants
from coding_framework.data.sources.multiples import MAX_ELEMENTS, are_multiples

DRAWS = 3


class Run(NamedTuple):
    """One module on all draws."""

    model: Any
    inputs: list[list[Any]]
    outputs: list[list[Any]]


def main() -> None:
    """Answer every module in order."""
    import torch

    torch.set_default_dtype(torch.float64)
    request = json.load(sys.stdin)
    resource.setrlimit(resource.RLIMIT_AS, (request["memory_bytes"], request["memory_bytes"]))
    answers, folder = sys.stdout, Path(request["folder"])
    with contextlib.redirect_stdout(sys.stderr):
        for module in request["modules"]:
            answers.write(json.dumps(answer(module, request["against"], folder)) + "\n")
            answers.flush()


def answer(module: dict[str, Any], against: Sequence[dict[str, Any]], folder: Path) -> dict[str, Any]:
    """What came of one module."""
    number = module["number"]
    try:
        run = _run(module)
        np.savez(folder / f"{number}.npz", allow_pickle=False, **_arrays(run))
        same = [place for place, other in enumerate(against) if _gives_the_same(other, run)]
    except Exception as error:
        words = f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0]}"
        return {"number": number, "words": words[:300], "same": []}
    return {"number": number, "words": "", "same": same}


def _model(module: dict[str, Any]) -> tuple[Any, Any]:
    import torch

    torch.manual_seed(0)
    task = execute_source(override_constants(module["source"], module["constants"]), "trace")
    init = task.get_init_inputs()
    _refuse_large_before_it_is_built(task.model_class, init)
    model = task.model_class(*init)
    _refuse_large(model.parameters())
    return task, model.double().eval()


def _refuse_large_before_it_is_built(model_class: Any, init: list[Any]) -> None:
    import torch

    try:
        with torch.device("meta"):
            parameters = list(model_class(*init).parameters())
    except Exception:
        return  # some cannot be built without numbers
    _refuse_large(parameters)


def _run(module: dict[str, Any]) -> Run:
    import torch

    task, model = _model(module)
    inputs, outputs = [], []
    for draw in range(DRAWS):
        torch.manual_seed(draw + 1)
        given, found = _forward(model, [_wide(one) for one in task.get_inputs()])
        inputs.append(given)
        outputs.append(found)
    return Run(model, inputs, outputs)


def _forward(model: Any, own: list[Any]) -> tuple[list[Any], list[Any]]:
    """On numbers of both signs, or on the module's own where those give none."""
    import torch

    _refuse_large(one for one in own if isinstance(one, torch.Tensor))
    signed = [
        torch.randn_like(one) * 1.5 if isinstance(one, torch.Tensor) and one.is_floating_point() else one
        for one in own
    ]
    for given in (signed, own):
        with contextlib.suppress(Exception):
            found = _outputs(model, given)
            if all(one.isfinite().all() for one in found):
                return given, found
    return own, _outputs(model, own)


def _outputs(model: Any, given: list[Any]) -> list[Any]:
    import torch

    with torch.no_grad():
        found = model(*[one.clone() if isinstance(one, torch.Tensor) else one for one in given])
    tensors = [found] if isinstance(found, torch.Tensor) else list(found)
    if not all(isinstance(one, torch.Tensor) for one in tensors):
        raise TypeError("its result is not made of tensors alone")
    _refuse_large(tensors)
    return tensors


def _gives_the_same(other: dict[str, Any], run: Run) -> bool:
    """Whether the other module, with this one's parameters, gives the same on this one's inputs."""
    import torch

    try:
        _, model = _model(other)
        mine, theirs = list(run.model.parameters()), list(model.parameters())
        if [p.shape for p in mine] != [p.shape for p in theirs]:
            return False
        with torch.no_grad():
            for to, of in zip(theirs, mine, strict=True):
                to.copy_(of)
        found = [_outputs(model, given) for given in run.inputs]
    except Exception:
        return False
    return are_multiples(_flat(run.outputs), _flat(found))


def _flat(outputs: list[list[Any]]) -> list[Any]:
    """Each output over all draws."""
    return [
        np.concatenate([one.numpy().reshape(-1) for one in draws]) for draws in zip(*outputs, strict=True)
    ]


def _arrays(run: Run) -> dict[str, Any]:
    import torch

    named: dict[str, Any] = {}
    for draw, (given, found) in enumerate(zip(run.inputs, run.outputs, strict=True)):
        tensors = [*(one for one in given if isinstance(one, torch.Tensor)), *run.model.parameters()]
        named |= {f"given_{draw}_{place}": one.detach().numpy() for place, one in enumerate(tensors)}
        named |= {f"found_{draw}_{place}": one.numpy() for place, one in enumerate(found)}
    return named


def _wide(one: Any) -> Any:
    import torch

    return one.double() if isinstance(one, torch.Tensor) and one.is_floating_point() else one


def _refuse_large(tensors: Any) -> None:
    if sum(one.numel() for one in tensors) > MAX_ELEMENTS:
        raise TooLarge(f"more than {MAX_ELEMENTS:,} numbers")


class TooLarge(Exception):
    """Said in words, as every reason why a module cannot be compared is."""


if __name__ == "__main__":
    main()
