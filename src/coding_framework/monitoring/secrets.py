"""A run's configuration as others may see it."""

from __future__ import annotations

import json
from typing import Any

_HIDDEN = frozenset({"secret"})


def without_secrets(config_json: str) -> str:
    """The same JSON, less the judge's secret; what is no JSON stays as it is."""
    try:
        return json.dumps(_shown(json.loads(config_json)), indent=2, ensure_ascii=False)
    except ValueError:
        return config_json


def _shown(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: "(hidden)" if k in _HIDDEN and v else _shown(v) for k, v in value.items()}
    return [_shown(item) for item in value] if isinstance(value, list) else value
