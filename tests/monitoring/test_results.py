"""Wilson's interval."""

from __future__ import annotations

import pytest

from coding_framework.monitoring.results import wilson_interval


def test_the_interval_is_wilsons() -> None:
    interval = wilson_interval(10, 20)
    assert interval.value == 0.5
    assert interval.low == pytest.approx(0.2993, abs=1e-4)
    assert interval.high == pytest.approx(0.7007, abs=1e-4)
    none = wilson_interval(0, 10)
    assert (none.low, none.high) == (0.0, pytest.approx(0.2775, abs=1e-4))
    assert wilson_interval(10, 10).high == 1.0
    with pytest.raises(ValueError, match="no share"):
        wilson_interval(2, 1)
