"""Excerpts of what ncu and compute-sanitizer (2025.3) printed on an H200, and stand-ins for them."""

from __future__ import annotations

from pathlib import Path

DATA = Path(__file__).parent / "data"


def recorded(name: str) -> str:
    return (DATA / f"{name}.txt").read_text()


def stand_in(folder: Path, script: str) -> Path:
    """A program that behaves as the tool did; the real ones need a GPU."""
    tool = folder / "tool"
    tool.write_text(f"#!/bin/bash\n{script}\n")
    tool.chmod(0o755)
    return tool
