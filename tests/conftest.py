"""Shared by all tests."""

from __future__ import annotations

import os
import signal

import pytest
from hypothesis import settings

from tests_support import EvaluationFactory

os.environ.setdefault("OMP_NUM_THREADS", "2")
"""Two cores are shared by everything a test starts."""
signal.signal(signal.SIGINT, signal.default_int_handler)
"""A job in the background begins with Ctrl-C ignored, and so would all that it starts."""
settings.register_profile("shared_machine", deadline=None)
settings.load_profile("shared_machine")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that need a GPU say so where there is none."""
    from coding_framework.cuda.toolchain.detect import find_gpus

    if not any(item.get_closest_marker("gpu") for item in items):
        return
    _, gpus, reason = find_gpus()
    if not gpus:
        for item in items:
            if item.get_closest_marker("gpu"):
                item.add_marker(pytest.mark.skip(reason=f"needs a GPU: {reason}"))


@pytest.fixture
def evaluations() -> EvaluationFactory:
    """Evaluations as the judge would give them."""
    return EvaluationFactory()
