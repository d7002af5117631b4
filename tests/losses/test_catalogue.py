"""The dictionary of losses: equal to the folder, and true about the classes."""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path

import pytest
from torch import nn

import tailormix.losses
from tailormix.losses import LOSSES, build

FOLDER = Path(tailormix.losses.__file__).parent


def load(name: str) -> type[nn.Module]:
    module, _, attribute = LOSSES[name].loads.partition(":")
    found: type[nn.Module] = getattr(importlib.import_module(module), attribute)
    return found


def classes(file: Path) -> list[str]:
    """``module:Class`` of each loss that the file defines."""
    module = importlib.import_module(f"tailormix.losses.{file.stem}")
    found = inspect.getmembers(module, inspect.isclass)
    return [
        f"{module.__name__}:{name}"
        for name, cls in found
        if issubclass(cls, nn.Module) and cls.__module__ == module.__name__
    ]


def test_dictionary_and_folder_are_equal() -> None:
    files = [file for file in FOLDER.glob("*.py") if file.stem != "__init__"]
    defined = [loads for file in files for loads in classes(file)]
    assert sorted(defined) == sorted(record.loads for record in LOSSES.values())


def test_every_loss_is_a_public_name() -> None:
    assert {load(name).__name__ for name in LOSSES} <= set(tailormix.losses.__all__)
    assert all(getattr(tailormix.losses, load(name).__name__) is load(name) for name in LOSSES)


@pytest.mark.parametrize("name", LOSSES)
def test_record_tells_the_truth_about_the_class(name: str) -> None:
    signature = inspect.signature(load(name)).parameters.values()
    # A class without arguments of its own shows those of nn.Module: *args, **kwargs.
    parameters = [p for p in signature if p.kind is p.POSITIONAL_OR_KEYWORD]
    defaults = {p.name: p.default for p in parameters if p.default is not p.empty}
    assert dict(LOSSES[name].defaults) == defaults
    assert LOSSES[name].required == tuple(p.name for p in parameters if p.default is p.empty)
    assert LOSSES[name].needs_ids == getattr(load(name), "needs_ids", False)


@pytest.mark.parametrize("name", LOSSES)
def test_build_makes_the_class_that_the_record_names(name: str) -> None:
    assert type(build(name, **({"size": 3} if LOSSES[name].required else {}))) is load(name)


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("mmce_w", {}, "unknown loss 'mmce_w'; did you mean 'mmce-w'?"),
        (
            "focal",
            {"gama": 2.0},
            "unknown argument of loss 'focal' 'gama'; did you mean 'gamma'? Known: gamma",
        ),
        ("ce", {"alpha": 0.1}, r"unknown argument of loss 'ce' 'alpha'. Known: \(none\)"),
        ("ls", {"alpha": 2.0}, r"alpha must lie in \[0, 1\], got 2.0"),
    ],
)
def test_build_refuses(name: str, arguments: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("?", r"\?")):
        build(name, **arguments)


def test_build_names_what_is_missing() -> None:
    with pytest.raises(TypeError, match="size"):
        build("crl")
