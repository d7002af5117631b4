"""Plug-ins: code of the user, ``module:name`` or ``path/file.py:name``, where an experiment takes a name.

A module is imported as Python does it, with the current folder on its path. A file is run, with its own
folder on the path, once for each version of its content. Only names that the user has given are looked up,
never one that is read from the folder of a run.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import importlib
import importlib.util
import inspect
import re
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from torch import nn

from tailormix import checks

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_WORD = r"[^\W\d]\w*(?:\.[^\W\d]\w*)*"
_SYNTAX = re.compile(rf"(?:.+\.py|{_WORD}):{_WORD}")
_TIMM = "timm:"  # models of timm have names of the same form


class PluginError(ValueError):
    """Code of the user cannot be found, fails, or gives something else than is needed."""


def is_plugin(name: object) -> bool:
    """Whether a name stands for code of the user.

    >>> [is_plugin(name) for name in ("my.py:gentle", "my.package:Net", "erm", "timm:resnet18")]
    [True, True, False, False]
    """
    return isinstance(name, str) and not name.startswith(_TIMM) and _SYNTAX.fullmatch(name) is not None


def short_name(name: str) -> str:
    """A name for folders and titles: the last part of the file or module, and the name in it.

    >>> short_name("lib/my.py:gentle"), short_name("my.package:Net"), short_name("erm")
    ('my.gentle', 'package.Net', 'erm')
    """
    if not is_plugin(name):
        return name
    source, _, inner = name.rpartition(":")
    return f"{Path(source).stem if source.endswith('.py') else source.rpartition('.')[2]}.{inner}"


def find(name: str) -> Any:
    """The object that a plug-in's name stands for.

    >>> find("fractions:Fraction")
    <class 'fractions.Fraction'>
    >>> find("fractions:Fracton")
    Traceback (most recent call last):
    tailormix.experiments.plugins.PluginError: plug-in fractions:Fracton: unknown name 'Fracton'; did you ...
    """
    source, _, inner = name.rpartition(":")
    found: Any = _file_module(name, Path(source)) if source.endswith(".py") else _module(name, source)
    for part in inner.split("."):
        if not hasattr(found, part):
            try:
                checks.known("name", part, [public for public in dir(found) if not public.startswith("_")])
            except ValueError as error:
                raise PluginError(f"plug-in {name}: {error}") from error
        found = getattr(found, part)
    return found


def parameters(name: str) -> Mapping[str, inspect.Parameter]:
    """The parameters of what a plug-in's name stands for; none where it cannot be called."""
    found = find(name)
    try:
        return inspect.signature(found).parameters
    except (TypeError, ValueError):
        return {}


def build(family: str, name: str, arguments: Mapping[str, Any], wanted: type | tuple[type, ...]) -> Any:
    """What the plug-in returns for these arguments, or the instance that it is; it must be a ``wanted``."""
    found = find(name)
    if isinstance(found, wanted):
        for option in arguments:
            raise PluginError(f"plug-in {name} is an instance already: it takes no option, got {option!r}")
        return copy.deepcopy(found) if isinstance(found, nn.Module) else found  # training changes a module
    made = call(name, found, arguments)
    if not isinstance(made, wanted):
        raise PluginError(f"plug-in {name} must return {family}, got {type(made).__name__}")
    return made


def call(name: str, function: Any, arguments: Mapping[str, Any]) -> Any:
    """Call what the plug-in is; what it does not accept, and what it raises, is one line."""
    if not callable(function):
        raise PluginError(f"plug-in {name} must be callable, got {type(function).__name__}")
    accepted = parameters(name)
    if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in accepted.values()):
        for option in arguments:
            checks.known(f"option of {name}", option, accepted or ("(none)",))
    with _one_line(name, "it raised"):
        return function(**arguments)


def record(name: str) -> dict[str, str | None]:
    """The file that a plug-in's code is in, and the SHA-256 of its content (of a package: its own file)."""
    source = name.rpartition(":")[0]
    if source.endswith(".py"):
        path: Path | None = Path(source)
    else:
        with _on_path(Path.cwd()), _one_line(name, f"importing {source} raised"):
            spec = importlib.util.find_spec(source)
        path = Path(spec.origin) if spec is not None and spec.origin and spec.has_location else None
    if path is None:
        return {"name": name, "file": None, "sha256": None}
    return {
        "name": name,
        "file": str(path.resolve()),
        "sha256": hashlib.sha256(_read(name, path)).hexdigest(),
    }


def _file_module(name: str, path: Path) -> ModuleType:
    """The module of a file, run anew where its content is new."""
    content = _read(name, path)
    digest = hashlib.sha256(str(path.resolve()).encode() + b"\0" + content).hexdigest()
    known = f"tailormix_plugin_{digest[:16]}"
    if known in sys.modules:
        return sys.modules[known]
    module = ModuleType(known)
    module.__file__ = str(path)
    sys.modules[known] = module  # dataclasses and worker processes look there
    try:
        with _on_path(path.resolve().parent), _one_line(name, f"importing {path} raised"):
            exec(compile(content, str(path), "exec"), vars(module))
    except BaseException:
        del sys.modules[known]
        raise
    return module


def _module(name: str, module: str) -> ModuleType:
    with _on_path(Path.cwd()), _one_line(name, f"importing {module} raised"):
        try:
            return importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name and f"{module}.".startswith(f"{error.name}."):
                raise PluginError(f"plug-in {name}: there is no module {error.name}") from error
            raise


def _read(name: str, path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise PluginError(f"plug-in {name}: there is no file {path} in {Path.cwd()}") from error
    except OSError as error:
        raise PluginError(f"plug-in {name}: cannot read {path} ({error.strerror})") from error


@contextlib.contextmanager
def _on_path(folder: Path) -> Iterator[None]:
    """Python looks for modules in ``folder`` first, as for a script in it."""
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))


@contextlib.contextmanager
def _one_line(name: str, happened: str) -> Iterator[None]:
    """Any error of the user's code becomes one line that names the place."""
    try:
        yield
    except PluginError:
        raise
    except (Exception, SystemExit) as error:
        ours = (__file__, sys.base_prefix, sys.prefix, "<frozen")
        frames = traceback.extract_tb(error.__traceback__)
        theirs = [frame for frame in frames if not frame.filename.startswith(ours)]
        place = f" ({Path(theirs[-1].filename).name}, line {theirs[-1].lineno})" if theirs else ""
        text = " ".join(str(error).split())
        raise PluginError(f"plug-in {name}: {happened} {type(error).__name__}: {text}{place}") from error
