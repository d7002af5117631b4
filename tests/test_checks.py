"""Every message names the argument, what was expected and what was given."""

import math
import re
from collections.abc import Iterable

import pytest

from tailormix import METHODS, checks
from tailormix.data.registry import DATASETS
from tailormix.models.registry import MODELS
from tailormix.paper.tables import NAMES


@pytest.mark.parametrize(
    ("check", "good"),
    [
        (checks.non_negative, [0, 0.0, 1, 1e300]),
        (checks.positive, [5e-324, 1, 2.5]),
        (checks.fraction, [0, 0.5, 1.0]),
        (checks.number, [-1, math.inf, 0.5]),
    ],
)
def test_good_values_come_back(check, good) -> None:
    assert [check("a", value) for value in good] == good


@pytest.mark.parametrize(
    ("check", "value", "error", "message"),
    [
        (checks.non_negative, -1, ValueError, "a must be >= 0, got -1"),
        (checks.non_negative, math.nan, ValueError, "a must be >= 0, got nan"),
        (checks.non_negative, math.inf, ValueError, "a must be finite, got inf"),
        (checks.non_negative, -math.inf, ValueError, "a must be >= 0, got -inf"),
        (checks.positive, 0, ValueError, "a must be > 0, got 0"),
        (checks.positive, math.inf, ValueError, "a must be finite, got inf"),
        (checks.positive, None, TypeError, "a must be a number, got NoneType: None"),
        (checks.fraction, 1.01, ValueError, "a must lie in [0, 1], got 1.01"),
        (checks.fraction, math.nan, ValueError, "a must lie in [0, 1], got nan"),
        (checks.fraction, True, TypeError, "a must be a number, got bool: True"),
        (checks.number, "1", TypeError, "a must be a number, got str: '1'"),
    ],
)
def test_bad_numbers(check, value: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=re.escape(message)):
        check("a", value)


def test_integers() -> None:
    assert checks.integer("k", 3, at_least=1) == 3
    with pytest.raises(ValueError, match="k must be >= 1, got 0"):
        checks.integer("k", 0, at_least=1)
    for wrong in (1.0, True, "1"):
        with pytest.raises(TypeError, match="k must be a whole number, got"):
            checks.integer("k", wrong, at_least=1)  # type: ignore[arg-type]


def test_known_names() -> None:
    assert checks.known("kind", "beta", ["beta", "sigmoid"]) == "beta"
    with pytest.raises(
        ValueError, match=r"unknown kind 'sigmid'; did you mean 'sigmoid'\? Known: beta, sigmoid"
    ):
        checks.known("kind", "sigmid", ["beta", "sigmoid"])
    with pytest.raises(ValueError, match=r"unknown kind 'xyz'\. Known: beta"):
        checks.known("kind", "xyz", ["beta"])
    with pytest.raises(TypeError, match="unknown kind 3"):
        checks.known("kind", 3, ["beta"])


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        *[("sk-mxup", "sk-mixup"), ("skmixup", "sk-mixup"), ("SK_Mixup", "sk-mixup"), ("mixp", "mixup")],
        *[("RegMixup", "regmixup"), ("manifold", "manifold-mixup"), ("cut-mix", "cutmix")],
        *[("moon", "moons"), ("cirlces", "circles"), ("cifar", "cifar10"), ("exchange", "exchange-rate")],
        *[("fashionmnist", "fashion-mnist"), ("airfol", "airfoil"), ("digit", "digits")],
    ],
)
def test_misspelt_names_are_recognised(typed: str, meant: str) -> None:
    assert checks.closest(typed, METHODS if meant in METHODS else DATASETS) == meant


@pytest.mark.parametrize(
    "word", ["nosuch", "banana", "svm", "iris", "results", "forest", "other", "slurm", "x"]
)
@pytest.mark.parametrize(
    "names", [METHODS, MODELS, DATASETS, NAMES], ids=["methods", "models", "data", "tables"]
)
def test_unrelated_words_get_no_suggestion(word: str, names: Iterable[str]) -> None:
    assert checks.closest(word, names) is None
