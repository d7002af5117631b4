"""Checks of arguments: every message names the argument, what was expected and what was given."""

from __future__ import annotations

import contextlib
import difflib
import math
import re
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from torch import Tensor


def non_negative(name: str, value: float) -> float:
    """Return ``value`` if it is a finite number ≥ 0.

    >>> non_negative("alpha", -1)
    Traceback (most recent call last):
    ValueError: alpha must be >= 0, got -1
    """
    if not 0 <= number(name, value) < math.inf:
        raise ValueError(f"{name} must be {'finite' if value == math.inf else '>= 0'}, got {value}")
    return value


def positive(name: str, value: float) -> float:
    """Return ``value`` if it is a finite number > 0.

    >>> positive("tau_std", -0.1)
    Traceback (most recent call last):
    ValueError: tau_std must be > 0, got -0.1
    """
    if not 0 < number(name, value) < math.inf:
        raise ValueError(f"{name} must be {'finite' if value == math.inf else '> 0'}, got {value}")
    return value


def fraction(name: str, value: float) -> float:
    """Return ``value`` if it lies in [0, 1].

    >>> fraction("q", 1.5)
    Traceback (most recent call last):
    ValueError: q must lie in [0, 1], got 1.5
    """
    if not 0 <= number(name, value) <= 1:
        raise ValueError(f"{name} must lie in [0, 1], got {value}")
    return value


def number(name: str, value: float) -> float:
    """Return ``value`` if it is a real number (and no boolean)."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name} must be a number, got {type(value).__name__}: {value!r}")
    return value


def strength(name: str, value: float | Tensor) -> float | Tensor:
    """Return ``value`` if it is a finite number ≥ 0, or a 0-d tensor, whose value may change while training.

    >>> strength("tau_max", -1.0)
    Traceback (most recent call last):
    ValueError: tau_max must be >= 0, got -1.0
    """
    from torch import Tensor

    if not isinstance(value, Tensor):
        return non_negative(name, value)
    if value.dim():
        raise ValueError(f"{name} must be a number or a 0-d tensor, got shape {tuple(value.shape)}")
    return value


def integer(name: str, value: int, *, at_least: int) -> int:
    """Return ``value`` if it is a whole number ≥ ``at_least``.

    >>> integer("num_classes", 1, at_least=2)
    Traceback (most recent call last):
    ValueError: num_classes must be >= 2, got 1
    """
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} must be a whole number, got {type(value).__name__}: {value!r}")
    if value < at_least:
        raise ValueError(f"{name} must be >= {at_least}, got {value}")
    return value


def boolean(name: str, value: bool) -> bool:
    """Return ``value`` if it is True or False: the text "false" would count as true.

    >>> boolean("squared", "false")
    Traceback (most recent call last):
    TypeError: squared must be True or False, got str: 'false'
    """
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, got {type(value).__name__}: {value!r}")
    return value


def known(name: str, value: object, options: Iterable[str]) -> str:
    """Return ``value`` if it is one of ``options``; otherwise list them and name the closest.

    >>> known("kind", "inverse_bta", ["beta", "inverse_beta", "sigmoid"])
    Traceback (most recent call last):
    ValueError: unknown kind 'inverse_bta'; did you mean 'inverse_beta'? Known: beta, inverse_beta, sigmoid
    """
    options = list(options)
    if isinstance(value, str) and value in options:
        return value
    hint = f"; did you mean {close!r}?" if (close := closest(str(value), options)) else "."
    kind = TypeError if not isinstance(value, str) else ValueError
    raise kind(f"unknown {name} {value!r}{hint} Known: {', '.join(options)}")


def closest(value: str, options: Iterable[str]) -> str | None:
    """The option that ``value`` is probably a misspelling of; None where no option is as close as that.

    Capital letters, hyphens, underscores and spaces make no difference.

    >>> closest("SK_Mixup", ["mixup", "sk-mixup"])
    'sk-mixup'
    >>> closest("nosuch", ["mismatch", "moons"]) is None
    True
    """
    plain = {re.sub("[-_ ]", "", option).lower(): option for option in options}
    close = difflib.get_close_matches(re.sub("[-_ ]", "", value).lower(), plain, n=1, cutoff=0.7)
    return plain[close[0]] if close else None


def names(name: str, value: Iterable[str]) -> tuple[str, ...]:
    """Return ``value`` as a tuple of names; a string alone would be taken apart into letters.

    >>> names("layers", "stem")
    Traceback (most recent call last):
    TypeError: layers must be a tuple of names, got the string 'stem'
    """
    if isinstance(value, str):
        raise TypeError(f"{name} must be a tuple of names, got the string {value!r}")
    return tuple(value)


def readable(tensor: Tensor) -> bool:
    """Whether looking at values is free: on the CPU and outside compilation.

    Elsewhere a look would make the step wait for the device or break the graph, so values are trusted there.
    """
    from torch.compiler import is_compiling

    return tensor.is_cpu and not is_compiling() and not TRUSTING.get()


#: whether values are trusted on every device; where every batch passes, this is asked without the function
TRUSTING: ContextVar[bool] = ContextVar("trusting", default=False)


@contextlib.contextmanager
def trusted() -> Iterator[None]:
    """While open, no tensor is :func:`readable`: inside ``torch.func.vmap`` values cannot be looked at."""
    token = TRUSTING.set(True)
    try:
        yield
    finally:
        TRUSTING.reset(token)
