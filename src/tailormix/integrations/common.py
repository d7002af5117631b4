"""Shared by the integrations: checks of methods, embeddings on demand, seeded draws, ranks."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import torch

from tailormix.embeddings import embed
from tailormix.method import Method
from tailormix.training.seeding import Stream, derive

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor, nn
    from torch.distributed import ProcessGroup


def check_method(method: object) -> Method:
    """Return ``method`` if it is one.

    >>> check_method("sk-mixup")
    Traceback (most recent call last):
    TypeError: method must be a tailormix.Method, got str: build it with build_method('sk-mixup')
    """
    if isinstance(method, Method):
        return method
    hint = f": build it with build_method({method!r})" if isinstance(method, str) else ""
    raise TypeError(f"method must be a tailormix.Method, got {type(method).__name__}{hint}")


def check_batch_form(method: object, otherwise: str) -> Method:
    """Return ``method`` if it has a batch form; ``otherwise`` says what to use instead."""
    found = check_method(method)
    if not found.batch_form:
        component = found.interpolation if found.objective.batch_form else found.objective
        raise TypeError(
            f"method must have a batch form, but {type(component).__name__} needs the model: {otherwise}"
        )
    return found


def check_model(method: Method, model: nn.Module | None, hint: str = "pass it") -> None:
    """Reject a missing model where distances are measured between embeddings, the default for classes."""
    needs = (method.pairs.needs_embeddings, method.coefficients.needs_embeddings)
    if model is None and any(method.num_classes is not None if need is None else need for need in needs):
        raise ValueError(
            f"model is needed to measure distances between its embeddings, got None: {hint}, or build the "
            "method with space='input'"
        )


def embeddings_on_demand(method: Method, model: nn.Module | None, x: Tensor) -> Callable[[], Tensor] | None:
    """What the batch form calls where it needs embeddings of x; None without a model."""
    if model is None:
        return None
    return functools.partial(embed, model, x, method.embedding_layer, method.update_statistics)


def generator_at(seed: int, *position: int) -> torch.Generator:
    """A generator that depends on the seed and the position in training alone, so that resuming is exact.

    >>> first, again = (torch.rand(2, generator=generator_at(0, 1, 7)) for _ in range(2))
    >>> torch.equal(first, again)
    True
    """
    return torch.Generator().manual_seed(derive(seed, Stream.STEP, *position))


def all_ranks(count: int) -> ProcessGroup | None:
    """The group of all ranks, if there are several: mean distances are taken over them."""
    several = count > 1 and torch.distributed.is_initialized()
    return torch.distributed.group.WORLD if several else None
