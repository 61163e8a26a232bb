"""Runs PTX on the CPU: the code that the real compiler made, lane by lane in NumPy, with exact counts.

Reading order: `execute.py` (the door), `program/translate.py` (PTX into Python), `machine/lanes.py`
(how values are laid out), `machine/scheduler.py` (divergence), `machine/shared_races.py`.

Guaranteed: integer and rounded float arithmetic as PTX defines it; faults, races between warps and
deadlocks are found, not hoped for; the same request gives the same bytes. Not guaranteed: bit-equal
approximate functions (`ex2.approx` and the like) and products of tensor cores, of which some forms of `mma`
and `wmma` are known; inter-block spinning.
"""
