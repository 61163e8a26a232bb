"""Advantages for episodes of several turns whose length the policy itself decides.

Rows of one task are compared turn by turn: the baseline of a row is the mean return of the *other*
trajectories of its group that are active at the same turn. This keeps the policy gradient unbiased:

- a row's own action does not enter its baseline (leave-one-out), and
- whether a trajectory is active at turn t was decided before the action at t, so the set of rows
  that are compared does not depend on the action that is being judged.

A row without another active trajectory has nothing to be compared with and gets advantage 0. That it
stands alone was decided before its action too, so this slows the learning of rare late turns and
pushes no action the wrong way. Dividing by the group's standard deviation (GRPO) rescales a group as
a whole and is optional; it is the one step that is not exactly unbiased.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
_MIN_STD = 1e-6


def turn_advantages(
    returns: Sequence[float], groups: Sequence[Hashable], active: Sequence[bool], *, normalise: bool = True
) -> FloatArray:
    """One advantage for each row; rows that are not active get 0 and enter no baseline."""
    values = np.asarray(returns, dtype=np.float64)
    advantages = np.zeros(len(values), dtype=np.float64)
    members: dict[Hashable, list[int]] = {}
    for row, (group, is_active) in enumerate(zip(groups, active, strict=True)):
        if is_active:
            members.setdefault(group, []).append(row)
    for rows in members.values():
        if len(rows) > 1:
            advantages[rows] = _leave_one_out(values[rows], normalise)
    return advantages


def has_signal(returns: Sequence[float], turns: Sequence[int], active: Sequence[bool]) -> bool:
    """Whether any turn of these episodes of one task would be credited."""
    return bool(turn_advantages(returns, turns, active).any())


def _leave_one_out(values: FloatArray, normalise: bool) -> FloatArray:
    others = (values.sum() - values) / (len(values) - 1)
    advantages: FloatArray = values - others
    std = float(values.std(ddof=1))
    if not normalise:
        return advantages
    return advantages / std if std > _MIN_STD else np.zeros_like(advantages)


def group_name(uid: str, turn: int) -> str:
    """Rows of one prompt at one turn are compared with each other."""
    return f"{uid}/turn{turn}"


def turn_of_key(key: str) -> int:
    """verl's key of a row is `{uid}_{session}_{index of the row within the session}`: that is the turn.

    Counted from the first that the policy spoke; all episodes of a group begin with the same opening.
    """
    return int(key.rsplit("_", 2)[2])


def place_of_key(key: str) -> tuple[int, ...]:
    """Step, prompt, episode and turn: the order of rows that does not depend on which came first."""
    return tuple(int(number) for number in re.findall(r"\d+", key))
