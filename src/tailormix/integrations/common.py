"""What the integrations with other training libraries share: checks, embeddings when asked, seeded draws."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import torch

from tailormix.embeddings import embed
from tailormix.method import Method
from tailormix.training.seeding import Stream, derive

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor, nn
    from torch.distributed import ProcessGroup


def checked_method(method: object) -> Method:
    """Return ``method`` if it is one.

    >>> checked_method("sk-mixup")
    Traceback (most recent call last):
    TypeError: method must be a tailormix.Method, got str: build it with build_method('sk-mixup')
    """
    if isinstance(method, Method):
        return method
    hint = f": build it with build_method({method!r})" if isinstance(method, str) else ""
    raise TypeError(f"method must be a tailormix.Method, got {type(method).__name__}{hint}")


def batch_method(method: object, otherwise: str) -> Method:
    """Return ``method`` if it mixes batches without the model; ``otherwise`` says what to use if not."""
    found = checked_method(method)
    if not found.batch_form:
        word = found.objective if not found.objective.batch_form else found.interpolation
        raise TypeError(
            f"method must have a batch form, but {type(word).__name__} needs the model: {otherwise}"
        )
    return found


def needs_embeddings(method: Method) -> bool:
    """Whether distances are measured between embeddings: where unsaid, they are for classes."""
    words = (method.pairs.needs_embeddings, method.coefficients.needs_embeddings)
    return any(method.num_classes is not None if word is None else word for word in words)


def measuring(method: Method, model: nn.Module | None, x: Tensor) -> Any:
    """Embeddings of x as methods take them: measured when first asked for, and once; None without a model."""
    return None if model is None else once(lambda: embed(model, x, method.embedding_layer))


def once(measure: Callable[[], Tensor]) -> Any:
    """The same function, which runs only the first time."""
    return functools.cache(measure)


def generator_at(seed: int, *position: int) -> torch.Generator:
    """A generator that depends on the seed and the position in training alone, so that resuming is exact.

    >>> first, again = (torch.rand(2, generator=generator_at(0, 1, 7)) for _ in range(2))
    >>> torch.equal(first, again)
    True
    """
    return torch.Generator().manual_seed(derive(seed, Stream.STEP, *position))


def all_ranks(count: int) -> ProcessGroup | None:
    """All ranks, where ``count`` says that there are several: mean distances are taken over them."""
    several = count > 1 and torch.distributed.is_initialized()
    return torch.distributed.group.WORLD if several else None
