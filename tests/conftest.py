"""Shared by all tests."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

from tests_support import EvaluationFactory

os.environ.setdefault("OMP_NUM_THREADS", "2")
"""Two cores are shared by everything a test starts."""
settings.register_profile("shared_machine", deadline=None)
settings.load_profile("shared_machine")


@pytest.fixture
def evaluations() -> EvaluationFactory:
    """Evaluations as the judge would give them."""
    return EvaluationFactory()
