"""Every message names the argument, what was expected and what was given."""

import math
import re

import pytest

from tailormix import checks


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
