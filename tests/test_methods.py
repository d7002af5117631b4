"""The dictionary of methods: equal to the code, true about its defaults, and of immutable recipes."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
from typing import TYPE_CHECKING

import pytest

import tailormix
from tailormix import METHODS, build_method, methods
from tailormix.methods import Entry

if TYPE_CHECKING:
    import types

QUESTIONS = ("pairs", "coefficients", "interpolation", "objectives")
PUBLISHED = [
    "erm",
    "mixup",
    "mixup-io",
    "mixup-to",
    "manifold-mixup",
    "regmixup",
    "rankmixup",
    "rankmixup-mrl",
    "mit-l",
    "mit-a",
    "c-mixup",
    "cutmix",
    "k-mixup",
    "local-mixup",
    "remix",
    "quantile-mixup",
    "two-beta",
    "sk-mixup",
    "sk-regmixup",
    "sk-cutmix",
    "sk-manifold-mixup",
]


def builders(module: types.ModuleType) -> list[object]:
    """The functions that a module defines."""
    return [f for _, f in inspect.getmembers(module, inspect.isfunction) if f.__module__ == module.__name__]


def components(question: str) -> set[str]:
    """The classes that a module, or the files of a package, define, private ones aside."""
    package = importlib.import_module(f"tailormix.{question}")
    found = [file.name for file in pkgutil.iter_modules(getattr(package, "__path__", []))]
    modules = [package, *(importlib.import_module(f"tailormix.{question}.{file}") for file in found)]
    return {
        name
        for module in modules
        for name, cls in inspect.getmembers(module, inspect.isclass)
        if cls.__module__ == module.__name__ and not name.startswith("_")
    }


def test_dictionary_and_functions_are_equal() -> None:
    listed = [entry.build for entry in METHODS.values()]
    helpers = (build_method, methods.without_auto)
    assert sorted(map(repr, listed)) == sorted(repr(f) for f in builders(methods) if f not in helpers)


def test_every_published_method_is_there() -> None:
    assert set(PUBLISHED) <= set(METHODS)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_is_a_public_name(name: str) -> None:
    function = METHODS[name].build
    assert getattr(tailormix, function.__name__) is function
    assert function.__name__.lower() == name.replace("-", "")
    assert METHODS[name].summary.endswith(".")
    assert METHODS[name].section


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_component_is_used_by_a_method(question: str) -> None:
    slot = {"interpolation": "interpolation", "objectives": "objective"}.get(question, question)
    used = {type(getattr(entry.build(), slot)).__name__ for entry in METHODS.values()}
    assert components(question) == used


@pytest.mark.parametrize("question", QUESTIONS)
def test_components_are_frozen(question: str) -> None:
    package = importlib.import_module(f"tailormix.{question}")
    for name in components(question):
        assert getattr(package, name).__dataclass_params__.frozen, name


@pytest.mark.parametrize("name", METHODS)
def test_methods_are_immutable_and_equal_by_value(name: str) -> None:
    method = build_method(name)
    with pytest.raises(dataclasses.FrozenInstanceError):
        method.num_classes = 3
    with pytest.raises(dataclasses.FrozenInstanceError):
        method.pairs.anything = 3
    assert method == build_method(name)
    assert hash(method) == hash(build_method(name))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("erm", {}),
        ("mixup", {"alpha": 1.0, "per": "batch", "partners": "batch"}),
        ("regmixup", {"alpha": 10.0, "per": "batch"}),
        ("rankmixup", {"alpha": 2.0, "weight": 0.1, "mixes": 3}),
        ("rankmixup-mrl", {"alpha": 2.0, "weight": 0.1, "margin": 2.0}),
        ("mit-l", {"alpha": 1.0, "margin": 0.5}),
        ("mit-a", {"alpha": 1.0, "margin": 0.5}),
        ("c-mixup", {"per": "batch", "partners": "pool"}),
        ("cutmix", {"alpha": 1.0, "probability": 1.0, "per": "batch"}),
        ("k-mixup", {"k": 16, "squared": True}),
        ("local-mixup", {"alpha": 1.0, "weighting": "exponential", "sigma": 5e-4}),
        ("remix", {"alpha": 1.0, "kappa": 3.0, "threshold": 0.5}),
        ("quantile-mixup", {"alpha": 1.0}),
        ("sk-mixup", {"tau_max": 1.0, "tau_std": 0.25, "kind": "inverse_beta", "partners": "batch"}),
        ("sk-regmixup", {"tau_max": 10.0, "tau_std": 0.25, "extra_pass": True}),
        ("sk-cutmix", {"tau_max": 1.0, "tau_std": 0.25}),
        ("sk-manifold-mixup", {"tau_max": 1.0, "tau_std": 0.25, "inputs": True}),
    ],
)
def test_defaults_are_the_papers(name: str, expected: dict[str, object]) -> None:
    defaults = METHODS[name].defaults
    assert {key: defaults[key] for key in expected} == expected


def test_two_beta_takes_one_of_the_papers_four_settings() -> None:
    defaults = METHODS["two-beta"].defaults
    assert defaults["alpha_near"] in (5, 10)
    assert defaults["alpha_far"] in (0.1, 0.5)


def test_settings_reach_the_components() -> None:
    method = build_method("rankmixup", alpha=0.5, weight=0.3, mixes=2, num_classes=7)
    assert (method.coefficients.alpha, method.objective.weight, method.objective.mixes) == (0.5, 0.3, 2)
    assert method.num_classes == 7


def test_unknown_names_and_settings_list_the_closest() -> None:
    with pytest.raises(
        ValueError, match=r"unknown method 'rank-mixup'; did you mean 'rankmixup'\? Known: erm, "
    ):
        build_method("rank-mixup")
    with pytest.raises(ValueError, match=r"unknown setting of sk-mixup 'tau_sdt'; did you mean 'tau_std'\?"):
        build_method("sk-mixup", tau_sdt=0.3)
    with pytest.raises(ValueError, match="alpha must be >= 0, got -1"):
        build_method("mixup", alpha=-1)


def test_entries_are_frozen() -> None:
    assert dataclasses.is_dataclass(Entry)
    with pytest.raises(dataclasses.FrozenInstanceError):
        METHODS["erm"].passes = "0"
