"""How a kernel is asked for: one task, many requests.

Guarantees: the description stays word for word as the task states it, because prose uses `x` and `a` in
more than one sense; names that differ are said to differ, and the signature shows them. Sizes that are
named are visible ones. Hints are true of the answer that goes with the request.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping

from coding_framework.records import Task

_OPENINGS = (
    "{description}",
    "{description}",
    "Write a CUDA kernel. {description}",
    "Write a CUDA kernel for this: {description}",
    "{title}. {description}",
    "Task: {title}. {description}",
    "Implement the following as a CUDA kernel. {description}",
    "I need a CUDA kernel ({lower}). {description}",
    "Please write a kernel for {lower}. {description}",
    "{title}, as a CUDA kernel: {description}",
    "Kernel wanted: {lower}. {description}",
    "On the GPU: {description}",
)
_SIZES = (
    "Among the sizes: {sizes}.",
    "It is called with {sizes}, among others.",
    "For example {sizes}.",
    "Typical sizes are {sizes}; others must work too.",
    "Sizes vary; {sizes} is one of them.",
)
_BLOCKS = (
    "Use blocks of {block} threads.",
    "Block size: {block}.",
    "Launch it with {block} threads a block.",
    "{block} threads a block, please.",
)
_WAYS = (
    "Way of writing it: {way}.",
    "Write the {way} version.",
    "Hint: {way}.",
    "Approach: {way}.",
)
_NAMES = (
    "Names: {names}.",
    "Here {names}.",
    "In the signature {names}.",
    "The arguments are renamed: {names}.",
)
_BLOCK = re.compile(r"block=\((\d+)\)")


def description_of(task: Task) -> str:
    """The prompt without its signature line."""
    return task.prompt.partition("\nSignature:")[0].strip()


def draw_wording(
    rng: random.Random, task: Task, signature: str, names: Mapping[str, str], *, source: str, way: str
) -> str:
    """A request for this task; hints speak of `source` and of the way it is written, where given."""
    opening = rng.choice(_OPENINGS)
    title = task.title
    parts = [
        opening.format(description=description_of(task), title=title, lower=title[:1].lower() + title[1:])
    ]
    renamed = [f"{old} is called {new}" for old, new in names.items() if old != new]
    if renamed:
        parts.append(rng.choice(_NAMES).format(names=", ".join(renamed)))
    if rng.random() < 0.4:
        shape = rng.choice(task.visible_shapes)
        sizes = ", ".join(f"{names.get(name, name)} = {size}" for name, size in shape.items())
        parts.append(rng.choice(_SIZES).format(sizes=sizes))
    blocks = set(_BLOCK.findall(source))
    if len(blocks) == 1 and rng.random() < 0.35:
        parts.append(rng.choice(_BLOCKS).format(block=blocks.pop()))
    if way and rng.random() < 0.6:
        parts.append(rng.choice(_WAYS).format(way=way.replace("_", " ")))
    return f"{' '.join(parts)}\nSignature: {signature}"
