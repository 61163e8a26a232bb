"""The child of `verified_hidden_constants`: runs a reference on the CPU with other constants.

Reads `{"source": …, "choices": [{…}, …], "memory_bytes": …}` from standard input and writes one JSON
line for each choice: what ran of it, and what the rest said. Where a choice fails as a whole, its
constants are tried one after another and those are kept that run together. It trusts the source as the
judge does and limits its memory only: time is its parent's business.
"""

from __future__ import annotations

import contextlib
import json
import resource
import sys
from typing import Any

from coding_framework.cuda.executors.host.verifier.task_source import execute_source, override_constants


def main() -> None:
    """Answer every choice in order."""
    request = json.load(sys.stdin)
    resource.setrlimit(resource.RLIMIT_AS, (request["memory_bytes"], request["memory_bytes"]))
    answers = sys.stdout
    for choice in request["choices"]:
        with contextlib.redirect_stdout(sys.stderr):
            answer = _answer(request["source"], choice)
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def _answer(source: str, choice: dict[str, int]) -> dict[str, Any]:
    words = choice_defect(source, choice)
    if words is None:
        return {"kept": choice, "words": ""}
    kept: dict[str, int] = {}
    if len(choice) > 1:
        for name, value in choice.items():
            if choice_defect(source, {**kept, name: value}) is None:
                kept[name] = value
    return {"kept": kept, "words": words}


def choice_defect(source: str, choice: dict[str, int]) -> str | None:
    """What the reference said with these constants; None: it ran and gave finite numbers."""
    import torch

    torch.manual_seed(0)
    try:
        task = execute_source(override_constants(source, choice), "shape probe")
        model = task.model_class(*task.get_init_inputs())
        with torch.no_grad():
            output = model(*task.get_inputs())
    except Exception as error:
        return f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0]}"
    tensors = [output] if isinstance(output, torch.Tensor) else list(output)
    if any(isinstance(t, torch.Tensor) and (t.numel() == 0 or not t.isfinite().all()) for t in tensors):
        return "its output is empty or not finite"
    return None


if __name__ == "__main__":
    main()
