"""Which families of tasks are never trained on.

A family is a way of computing, not a formula: whoever has seen one member has a pattern for the others.
So the split is by whole families, one in each tier. No training pair, of the catalogue or of a template,
belongs to one of these; the evaluation asks for them. `tasks.held_out` of the configuration names further
single tasks (`split.py`).
"""

from __future__ import annotations

HELD_OUT_FAMILIES = frozenset({"blend", "scan", "pooling", "loss"})
"""Tier 0: weighing or choosing between arrays. Tier 1: prefix sums and the like. Tier 2: a window slides
and keeps one value. Tier 3: a loss and what it is the mean of."""
