"""A reference leads to its object, or the error says which half of it is wrong."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from coding_framework.errors import ConfigError
from coding_framework.plugins import load_object

GROUP = "coding_framework.tests"


@pytest.fixture
def own_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a package of a user's own, and another that registers an entry point to it."""
    package = tmp_path / "kernel_club"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "rewards.py").write_text("class Fast:\n    limit = 3\n\nfast = Fast()\n")
    (package / "broken.py").write_text("raise OSError('no licence')\n")
    (package / "hungry.py").write_text("import a_package_that_nobody_has\n")
    metadata = tmp_path / "kernel_club-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: kernel-club\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[{GROUP}]\nswift = kernel_club.rewards:fast\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for name in [name for name in sys.modules if name.split(".")[0] == "kernel_club"]:
        del sys.modules[name]


def test_a_reference_leads_to_its_attribute_however_deep(own_modules: Path) -> None:
    assert load_object("kernel_club.rewards:Fast.limit", GROUP) == 3


def test_an_entry_point_is_found_by_its_name(own_modules: Path) -> None:
    assert type(load_object("swift", GROUP)).__name__ == "Fast"


def test_a_module_of_the_working_folder_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lying_around.py").write_text("answer = 42\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    try:
        assert load_object("lying_around:answer", GROUP) == 42
    finally:
        sys.modules.pop("lying_around", None)


@pytest.mark.parametrize(
    ("reference", "words"),
    [
        ("kernel_clubs.rewards:fast", r"no module kernel_clubs; close to it: kernel_club\b"),
        ("kernel_club.reward:fast", r"no module kernel_club\.reward; close to it: rewards"),
        ("kernel_club.rewards:fsat", "has no attribute fsat; close to it: fast"),
        ("kernel_club.rewards:Fast.limits", "Fast has no attribute limits; close to it: limit"),
        ("kernel_club.broken:x", "importing kernel_club.broken failed: OSError: no licence"),
        ("kernel_club.hungry:x", "needs the module a_package_that_nobody_has"),
        ("swfit", "no installed entry point of the group .*; close to it: swift"),
        ("kernel_club.rewards:", "write it as module:attribute"),
    ],
)
def test_a_reference_that_leads_nowhere_says_where_it_ends(
    own_modules: Path, reference: str, words: str
) -> None:
    with pytest.raises(ConfigError, match=words):
        load_object(reference, GROUP)
