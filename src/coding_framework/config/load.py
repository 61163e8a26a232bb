"""Defaults, then a TOML file or preset, then dotted overrides: `rl.steps=3`."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from coding_framework.config.tree import FrameworkConfig
from coding_framework.errors import ConfigError

EITHER_OR = (("sft.steps", "sft.epochs"),)
"""Settings that say the same in two ways: one on the command line replaces the other of the file."""


def preset_dir() -> Path:
    """The folder with the shipped presets: `configs/` of the checkout, else of the working folder."""
    checkout = Path(__file__).resolve().parents[3] / "configs"
    return checkout if checkout.is_dir() else Path.cwd() / "configs"


def load_config(
    source: str | Path | None = None,
    overrides: Iterable[str] = (),
    values: Mapping[str, Any] | None = None,
) -> FrameworkConfig:
    """Resolve the config. `source` is a preset's name or a TOML/JSON file; `values` maps dotted keys."""
    tree = _read(source) if source is not None else {}
    given: dict[str, Any] = {}
    for text in overrides:
        key, separator, raw = text.partition("=")
        if not separator:
            raise ConfigError(f"override '{text}' has no '=': write it as section.key=value")
        given[key.strip()] = _parse_value(raw.strip())
    given |= values or {}
    for one, other in (*EITHER_OR, *((other, one) for one, other in EITHER_OR)):
        if given.get(one) is not None and other not in given:
            _put(tree, other, None)
    for key, value in given.items():
        _put(tree, key, value)
    return build_config(tree)


def build_config(tree: Mapping[str, Any]) -> FrameworkConfig:
    """Validate a nested mapping; `ConfigError` names every wrong key and what it should be."""
    try:
        return FrameworkConfig.model_validate(tree)
    except ValidationError as error:
        raise ConfigError("\n".join(_explain(item) for item in error.errors())) from None


def _read(source: str | Path) -> dict[str, Any]:
    path = Path(source)
    if not path.suffix and not path.is_file():
        path = preset_dir() / f"{source}.toml"
    if not path.is_file():
        presets = ", ".join(sorted(p.stem for p in preset_dir().glob("*.toml")))
        raise ConfigError(f"no config file {source}; give a .toml file or a preset ({presets})")
    try:
        text = path.read_text()
        tree: dict[str, Any] = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, json.JSONDecodeError) as error:
        raise ConfigError(f"{path} cannot be read as a config: {error}") from None
    if not isinstance(tree, dict):
        raise ConfigError(f"{path} cannot be read as a config: the top level must be a table")
    return tree


def _put(tree: dict[str, Any], key: str, value: Any) -> None:
    *sections, leaf = key.split(".")
    for section in sections:
        child = tree.setdefault(section, {})
        if not isinstance(child, dict):
            raise ConfigError(f"'{key}': '{section}' is a value, not a section")
        tree = child
    tree[leaf] = value


def _parse_value(raw: str) -> Any:
    """TOML syntax where it parses, else text: `0.1`, `true`, `["a"]`, `gated`; `null` leaves open."""
    if raw == "null":
        return None
    try:
        return tomllib.loads(f"value = {raw}")["value"]
    except tomllib.TOMLDecodeError:
        return raw


def _explain(item: Any) -> str:
    """In words of the config, not of the library that checks it."""
    location = ".".join(str(part) for part in item["loc"])
    if item["type"] == "extra_forbidden":
        known = _fields_at(item["loc"][:-1])
        close = get_close_matches(str(item["loc"][-1]), known, n=1)
        hint = f"; did you mean '{close[0]}'?" if close else f"; known keys: {', '.join(known)}"
        return f"config {location or '(no name)'}: unknown key{hint}"
    context = item.get("ctx", {})
    if item["type"] == "value_error":
        return str(context["error"])
    words = _WORDS.get(item["type"])
    said = words.format(**context) if words else f"is not as it should be: {item['msg']}"
    return f"{location or 'the config'} {said} (got {item['input']!r:.80})"


_WORDS = {
    "greater_than_equal": "must be at least {ge}",
    "greater_than": "must be above {gt}",
    "less_than_equal": "must be at most {le}",
    "less_than": "must be below {lt}",
    **dict.fromkeys(
        ("int_parsing", "int_type", "int_from_float", "int_parsing_size"), "must be a whole number"
    ),
    **dict.fromkeys(("float_parsing", "float_type"), "must be a number"),
    **dict.fromkeys(("bool_parsing", "bool_type"), "must be true or false"),
    **dict.fromkeys(("string_type", "path_type"), "must be text"),
    **dict.fromkeys(("tuple_type", "list_type"), "must be a list"),
    **dict.fromkeys(("model_type", "model_attributes_type", "dict_type"), "must be a section with keys"),
    "literal_error": "must be one of {expected}",
    "string_pattern_mismatch": "must look like {pattern}",
    "string_too_short": "must not be empty",
    "too_short": "must not be empty",
}
"""What pydantic's kinds of error mean to whoever wrote the value."""


def _fields_at(location: tuple[int | str, ...]) -> list[str]:
    """The keys that are known there; sections may stand in a table (`reward.agents.tester`) or a list."""
    annotation: Any = FrameworkConfig
    for part in location:
        inner = [kind for kind in get_args(annotation) if _is_section(kind)]
        annotation = inner[0] if inner else annotation.model_fields[str(part)].annotation
    inner = [kind for kind in (annotation, *get_args(annotation)) if _is_section(kind)]
    return list(inner[0].model_fields)


def _is_section(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)
