"""Objects of a user's own, named in a config: `module:attribute`, or the name of an installed entry point.

Rewards, models and tasks are found the same way. What is guaranteed: a reference that leads nowhere is a
`ConfigError` that says which half is wrong and which names come close; an error inside the user's module is
told with its own words. What is not: that the object is of any kind. Who asks checks that. The module is
imported in this process, from the installed packages and the folder of the command.
"""

from __future__ import annotations

import inspect
import sys
import sysconfig
import traceback
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType

from coding_framework.errors import ConfigError


def load_object(reference: str, group: str) -> object:
    """What `reference` names: `module:attribute` (dots lead into attributes), or a name of `group`."""
    module, separator, attribute = reference.partition(":")
    if not separator:
        return _of_entry_point(reference, group)
    if not module or not attribute:
        raise ConfigError(f"'{reference}' names no object: write it as module:attribute")
    return _attribute_of(_module(module, reference), attribute, reference)


def search_path() -> tuple[str, ...]:
    """Where objects are found from here; another process that is given it finds the same ones."""
    folders = [str(Path(entry).resolve()) for entry in (*sys.path, "") if Path(entry).is_dir()]
    return tuple(dict.fromkeys(folders))


def extend_search_path(folders: Iterable[str]) -> None:
    """Look there as well: behind all that is installed, so that nothing of it is hidden."""
    sys.path += [folder for folder in folders if folder not in sys.path]


def require_arguments(function: Callable[..., object], names: tuple[str, ...], who: str) -> None:
    """Raises where `function` cannot be called with so many arguments."""
    try:
        signature = inspect.signature(function)
    except ValueError:  # of a callable that C code brought
        return
    try:
        signature.bind(*names)
    except TypeError as error:
        raise ConfigError(f"{who} takes {signature}, but it is given ({', '.join(names)}): {error}") from None


def raised(error: BaseException) -> str:
    """An exception of the user's code in words, with the last line of theirs that it came through."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = (*sysconfig.get_paths().values(), str(Path(__file__).parent))
    theirs = [frame for frame in frames if not frame.filename.startswith(ours)]
    last = (theirs or frames)[-1]
    return f"{type(error).__name__}: {error} ({Path(last.filename).name}, line {last.lineno})"


def _of_entry_point(name: str, group: str) -> object:
    known = {entry.name: entry for entry in entry_points(group=group)}
    if name in known:
        return _loaded(known[name], group)
    raise ConfigError(
        f"'{name}' is no installed entry point of the group {group}{_close_to(name, known)}: give one of "
        f"{', '.join(sorted(known)) or 'none (no package here brings any)'}, or write module:attribute"
    )


def _loaded(entry: EntryPoint, group: str) -> object:
    module, _, attribute = entry.value.partition(":")
    reference = f"{entry.name} ({entry.value}, entry point of {group})"
    found = _module(module.strip(), reference)
    return _attribute_of(found, attribute.split("[")[0].strip(), reference) if attribute else found


def _module(name: str, reference: str) -> ModuleType:
    _let_the_working_folder_be_seen()
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        missing = error.name or name
        if name == missing or name.startswith(f"{missing}."):
            raise ConfigError(_no_module(missing, reference)) from None
        raise ConfigError(f"'{reference}': {name} needs the module {missing}, which is not here") from error
    except (Exception, SystemExit) as error:
        raise ConfigError(
            f"'{reference}': importing {name} failed: {type(error).__name__}: {error}"
        ) from error


def _let_the_working_folder_be_seen() -> None:
    """A script that pip installed does not look where it was started; `python -m` would."""
    if not {"", str(Path.cwd())} & set(sys.path):
        sys.path.append(str(Path.cwd()))


def _no_module(missing: str, reference: str) -> str:
    package, _, leaf = missing.rpartition(".")
    where = list(getattr(find_spec(package), "submodule_search_locations", None) or ()) if package else None
    names = (found.name for found in iter_modules(where))
    return (
        f"'{reference}': there is no module {missing}{_close_to(leaf, names)}: install its package, or start "
        "from its folder (PYTHONPATH names further ones)"
    )


def _attribute_of(module: ModuleType, path: str, reference: str) -> object:
    found: object = module
    for name in path.split("."):
        if not hasattr(found, name):
            owner = getattr(found, "__name__", type(found).__name__)
            raise ConfigError(f"'{reference}': {owner} has no attribute {name}{_close_to(name, dir(found))}")
        found = getattr(found, name)
    return found


def _close_to(name: str, known: Iterable[str]) -> str:
    close = get_close_matches(name, [entry for entry in known if not entry.startswith("_")], n=3)
    return f"; close to it: {', '.join(close)}" if close else ""
