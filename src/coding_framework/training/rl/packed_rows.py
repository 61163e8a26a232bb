"""verl plug-in: makes packed attention known to transformers in every process that verl starts."""

from __future__ import annotations

from coding_framework.training.packed_attention import register_packed_attention

register_packed_attention()
