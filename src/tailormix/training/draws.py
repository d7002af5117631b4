"""The random draws of a training step, recorded once and replayed for every member of a joint step.

Each member draws from its own seed, as its single run would. Under ``vmap`` it could not: the draws are made
before, and take the place of the calls.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from tailormix.training.seeding import reseed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tailormix.method import Step

NUMBERS = (torch.rand, torch.randint)  # the functions that methods draw by


@dataclass(frozen=True)
class Draw:
    """One call that draws random numbers: ``torch.rand``, ``torch.randint``, or dropout by its ``rate``."""

    result: Tensor
    function: Callable[..., Tensor] | None = None
    rate: float = 0.0

    def empty(self, members: int) -> Tensor:
        """Room for the numbers of all members, (k, ...)."""
        return self.result.new_empty(members, *self.result.shape)

    def fill(self, row: Tensor) -> None:
        """Draw the numbers of one member from torch's generator, as the call itself would."""
        if self.function is None:
            row.bernoulli_(1 - self.rate)
        else:
            self.function(out=row)

    def scaled(self, stack: Tensor) -> Tensor:
        """What a method sees, or what dropout multiplies its input by."""
        return stack.div_(1 - self.rate) if self.rate else stack


def record(step: Step, seed: int, x: Tensor, y: Tensor, **options: Any) -> list[Draw] | None:
    """The draws of a step on this batch, in order; ``None`` if there are others than those of :class:`Draw`.

    >>> from tailormix import Mixup, Step
    >>> step = Step(torch.nn.Linear(2, 3), Mixup(per="sample"))
    >>> [tuple(draw.result.shape) for draw in record(step, 0, torch.rand(4, 2), torch.zeros(4).long())]
    [(4,), (4,)]
    """
    trial = copy.deepcopy(step)
    with torch.random.fork_rng(devices=[x.device] if x.is_cuda else []), torch.no_grad():
        reseed(seed, x.device)
        with _Record() as recorded:
            trial(x, y, **options)
        state = torch.get_rng_state()
        reseed(seed, x.device)
        for draw in recorded.draws:
            draw.fill(draw.empty(1)[0])
        draws: list[Draw] = recorded.draws
        return draws if torch.equal(state, torch.get_rng_state()) else None


class _Record(TorchFunctionMode):
    """Writes down every draw while it happens."""

    def __init__(self) -> None:
        super().__init__()
        self.draws: list[Draw] = []

    def __torch_function__(
        self, function: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        found = function(*args, **kwargs)
        if function in NUMBERS:
            self.draws.append(Draw(found, partial(function, *args, **kwargs)))
        elif function is functional.dropout and (rate := _dropout_rate(*args, **kwargs)):
            self.draws.append(Draw(found, rate=rate))
        return found


class Replay(TorchFunctionMode):
    """Returns draws that were made before, in place of new ones; rows are selected as whole rows.

    Vectorised, ``index_select`` becomes a ``gather`` of single values, which takes four times as long as
    ``embedding`` for 30 × 64 rows of 64 values, and ten times for rows of 384.
    """

    def __init__(self, draws: Sequence[Tensor]) -> None:
        super().__init__()
        self.draws = iter(draws)

    def __torch_function__(
        self, function: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if function in NUMBERS:
            return next(self.draws)
        if function is functional.dropout:
            return args[0] * next(self.draws) if _dropout_rate(*args, **kwargs) else args[0]
        if function is Tensor.index_select and args[1] == 0 and args[0].is_floating_point():
            return functional.embedding(args[2], args[0].flatten(1)).view(-1, *args[0].shape[1:])
        return function(*args, **kwargs)


def _dropout_rate(_input: Tensor, p: float = 0.5, training: bool = True, **_: Any) -> float:
    """The share that a call of ``functional.dropout`` with these arguments drops."""
    return p if training else 0.0
