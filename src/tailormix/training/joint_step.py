"""The steps of k models of one architecture as one: a pass over stacked parameters instead of k passes.

Small models spend their time in Python. Here the steps of k members become one step: their parameters lie in
stacked tensors (k, ...), their losses come from one ``torch.func.vmap``, their gradients from one backward
pass. Each member keeps its own seed, batches and draws, and ends where its own single run would.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, final

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from tailormix import checks
from tailormix.training.seeding import reseed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tailormix.components import Criterion
    from tailormix.method import Method, Step
    from tailormix.training.optimisation import TrainingBatch

NUMBERS = (torch.rand, torch.randint)  # the functions that methods draw by


class NotStackable(ValueError):
    """These models cannot be trained together; the message says why."""


@final
class JointStep:
    """k steps as one: ``losses(batches)`` are (k,), and ``backward(losses)`` fills the members' gradients.

    The parameters and buffers of the members become views into the stacks, so that each member's optimiser,
    checkpoint and evaluation work as before. Raises :class:`NotStackable` where the members differ in more
    than numbers.

    >>> from tailormix import Mixup, Step
    >>> from tailormix.training.optimisation import TrainingBatch
    >>> members = [Step(nn.Linear(2, 3), Mixup()) for _ in range(4)]
    >>> batches = [TrainingBatch(torch.rand(8, 2), torch.arange(8) % 3, seed=k) for k in range(4)]
    >>> joint = JointStep(members)
    >>> losses = joint.losses(batches)
    >>> joint.backward(losses)
    >>> losses.shape, members[3].model.weight.grad.shape
    (torch.Size([4]), torch.Size([3, 2]))
    """

    def __init__(self, steps: Sequence[Step]) -> None:
        if not steps:
            raise ValueError("steps must hold at least one member, got none")
        _check_alike([step.model for step in steps])
        self.steps = tuple(steps)
        self.method = _Stacked.of("method", [step.method for step in steps])
        self.module = _Member(steps[0].model, steps[0].criterion)
        members = [_Member(step.model, step.criterion) for step in steps]
        self._members = {
            name: [dict(member.named_parameters())[name] for member in members]
            for name, _ in self.module.named_parameters()
        }
        self.parameters = {name: _stack_parameters(rows) for name, rows in self._members.items()}
        self.buffers = {
            name: _stack_buffers([dict(member.named_buffers())[name] for member in members])
            for name, _ in self.module.named_buffers()
        }
        self._draws: dict[tuple[Any, ...], list[_Draw]] = {}
        self._vectorised = vmap(self._loss, randomness="error")

    def losses(self, batches: Sequence[TrainingBatch]) -> Tensor:
        """The loss of each member on its own batch with the draws of its own seed, (k,)."""
        x, y = torch.stack([batch.x for batch in batches]), torch.stack([batch.y for batch in batches])
        options = _stack_options([batch.options for batch in batches])
        draws = self._draw(batches)
        with checks.trusted():
            losses: Tensor = self._vectorised(
                self.parameters, self.buffers, self.method.leaves, draws, x, y, options
            )
        weights = {batch.weight for batch in batches}
        return losses if weights == {1.0} else losses * losses.new_tensor([batch.weight for batch in batches])

    def backward(self, losses: Tensor) -> None:
        """Add the gradients of the losses (k,) to those of the members, which are views of the stacks'."""
        losses.sum().backward()  # type: ignore[no-untyped-call]
        for name, parameter in self.parameters.items():
            if parameter.grad is not None and self._members[name][0].grad is None:
                for member, gradient in zip(self._members[name], parameter.grad, strict=True):
                    member.grad = gradient

    def zero_grad(self) -> None:
        """Set all gradients to 0, in place."""
        for parameter in self.parameters.values():
            if parameter.grad is not None:
                parameter.grad.zero_()

    def _loss(
        self,
        parameters: Mapping[str, Tensor],
        buffers: Mapping[str, Tensor],
        leaves: Sequence[Tensor],
        draws: Sequence[Tensor],
        x: Tensor,
        y: Tensor,
        options: Mapping[str, Any],
    ) -> Tensor:
        """The loss of one member, as ``vmap`` sees it."""
        arguments = (self.method.rebuild(leaves), x, y, options)
        with _Replay(draws):
            loss: Tensor = functional_call(self.module, (dict(parameters), dict(buffers)), arguments)
        return loss

    def _draw(self, batches: Sequence[TrainingBatch]) -> list[Tensor]:
        """All random numbers of a step, each (k, ...), drawn by every member from its own seed."""
        first = batches[0]
        key = (first.x.shape, first.y.shape, self.steps[0].training)
        if key not in self._draws:
            self._draws[key] = _record(self.steps[0], first)
        drawn: dict[int, list[Tensor]] = {}  # members of one seed draw the same
        for batch in batches:
            if batch.seed not in drawn:
                reseed(batch.seed, batch.x.device)
                drawn[batch.seed] = [draw() for draw in self._draws[key]]
        members = [drawn[batch.seed] for batch in batches]
        return [torch.stack(values) for values in zip(*members, strict=True)]


def check_joint(steps: Sequence[Step], batches: Sequence[TrainingBatch]) -> None:
    """Raise :class:`NotStackable` unless the joint losses are those of single steps; nothing is changed."""
    singles, copies = copy.deepcopy(list(steps)), copy.deepcopy(list(steps))
    with (
        torch.random.fork_rng(devices=[batches[0].x.device] if batches[0].x.is_cuda else []),
        torch.no_grad(),
    ):
        try:
            joint = JointStep(copies).losses(batches)
        except RuntimeError as error:  # what vmap cannot do
            raise NotStackable(
                f"these models cannot be trained together: {str(error).split('. ')[0]}"
            ) from error
        for k, (step, batch) in enumerate(zip(singles, batches, strict=True)):
            reseed(batch.seed, batch.x.device)
            single = step(batch.x, batch.y, **batch.options) * batch.weight
            if not torch.allclose(joint[k], single, rtol=1e-3, atol=1e-4, equal_nan=True):
                found = f"the loss would be {joint[k]:.6g} instead of {single:.6g}"
                raise NotStackable(f"these models cannot be trained together: {found}")


class _Member(nn.Module):
    """A step whose method is an argument."""

    def __init__(self, model: nn.Module, criterion: Criterion | None) -> None:
        super().__init__()
        self.model = model
        self.criterion = criterion

    def forward(self, method: Method, x: Tensor, y: Tensor, options: Mapping[str, Any]) -> Tensor:
        return method.loss(self.model, x, y, self.criterion, **options)


def _check_alike(models: Sequence[nn.Module]) -> None:
    """Raise unless all models have the same modules, parameters and buffers, by name, shape and type."""
    first = dict(models[0].named_modules())
    for model in models[1:]:
        modules = dict(model.named_modules())
        for name in first | modules:
            one, other = first.get(name), modules.get(name)
            if type(one) is not type(other) or _tensors(one) != _tensors(other):
                where = f"module {name!r}" if name else "the model"
                raise NotStackable(
                    f"models trained together must be of one architecture, but {where} differs"
                )


def _tensors(module: nn.Module | None) -> list[tuple[str, torch.Size, torch.dtype]]:
    if module is None:
        return []
    named = [*module.named_parameters(recurse=False), *module.named_buffers(recurse=False)]
    return [(name, tensor.shape, tensor.dtype) for name, tensor in named]


def _stack_parameters(members: Sequence[nn.Parameter]) -> Tensor:
    """A leaf (k, ...), whose rows the members' parameters become."""
    stacked = torch.stack([member.detach() for member in members])
    for member, row in zip(members, stacked, strict=True):
        member.data, member.grad = row, None
    return stacked.requires_grad_(members[0].requires_grad)


def _stack_buffers(members: Sequence[Tensor]) -> Tensor:
    """(k, ...), whose rows the members' buffers become."""
    stacked = torch.stack(list(members))
    for member, row in zip(members, stacked, strict=True):
        member.data = row
    return stacked


@dataclasses.dataclass(frozen=True)
class _Stacked:
    """k methods as one: ``leaves`` (k, ...) hold the numbers and tensors in which they differ."""

    template: Any
    paths: tuple[tuple[str, ...], ...]
    leaves: tuple[Tensor, ...]

    @classmethod
    def of(cls, name: str, values: Sequence[Any]) -> _Stacked:
        found = dict(_differences(name, values))
        return cls(values[0], tuple(found), tuple(found.values()))

    def rebuild(self, leaves: Sequence[Tensor]) -> Any:
        """The method with these values in place of the leaves."""
        value = self.template
        for path, leaf in zip(self.paths, leaves, strict=True):
            value = _replaced(value, path, leaf)
        return value


def _differences(name: str, values: Sequence[Any]) -> Iterator[tuple[tuple[str, ...], Tensor]]:
    """The path and the stacked values of every number or tensor in which dataclasses differ."""
    first = values[0]
    if any(type(value) is not type(first) for value in values):
        raise NotStackable(f"methods trained together must be of one recipe, but their {name} differ")
    if dataclasses.is_dataclass(first):
        for field in dataclasses.fields(first):
            inner = [getattr(value, field.name) for value in values]
            yield from (((field.name, *path), leaf) for path, leaf in _differences(field.name, inner))
    elif isinstance(first, Tensor) and all(value is first for value in values):
        return
    elif isinstance(first, Tensor) and len({value.shape for value in values}) == 1:
        yield (), _stack_buffers(values)
    elif isinstance(first, Tensor) or any(value != first for value in values):
        if not isinstance(first, float):
            raise NotStackable(
                f"methods trained together may differ in numbers only, but their {name} differ"
            )
        yield (), torch.tensor(values)


def _replaced(value: Any, path: tuple[str, ...], leaf: Tensor) -> Any:
    if not path:
        return leaf
    return dataclasses.replace(value, **{path[0]: _replaced(getattr(value, path[0]), path[1:], leaf)})


def _stack_options(options: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Tensors stacked; all else must be the same for every member."""
    first = options[0]
    stacked: dict[str, Any] = {}
    for name, value in first.items():
        if isinstance(value, Tensor):
            stacked[name] = torch.stack([each[name] for each in options])
        elif value is not None:
            raise NotStackable(f"models trained together cannot take the option {name}")
    return stacked


#: makes the random numbers of one call anew, from torch's generator
_Draw = Callable[[], Tensor]


def _dropout_mask(shape: torch.Size, device: torch.device, rate: float) -> Tensor:
    """What ``functional.dropout`` multiplies its input by."""
    return torch.empty(shape, device=device).bernoulli_(1 - rate).div_(1 - rate)


def _record(step: Step, batch: TrainingBatch) -> list[_Draw]:
    """The draws of one step, in order; raises if there are others than uniforms and dropout masks."""
    trial = copy.deepcopy(step)
    with torch.random.fork_rng(devices=[batch.x.device] if batch.x.is_cuda else []), torch.no_grad():
        reseed(batch.seed, batch.x.device)
        with _Record() as recorded:
            trial(batch.x, batch.y, **batch.options)
        state = torch.get_rng_state()
        reseed(batch.seed, batch.x.device)
        for draw in recorded.draws:
            draw()
        if not torch.equal(state, torch.get_rng_state()):
            raise NotStackable(
                "models trained together may draw by torch.rand, torch.randint and dropout only"
            )
    draws: list[_Draw] = recorded.draws
    return draws


class _Record(TorchFunctionMode):
    """Writes down every draw while it happens."""

    def __init__(self) -> None:
        super().__init__()
        self.draws: list[_Draw] = []

    def __torch_function__(
        self, function: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if function in NUMBERS:
            self.draws.append(partial(function, *args, **kwargs))
        elif function is functional.dropout and (rate := _dropout_rate(*args, **kwargs)):
            self.draws.append(partial(_dropout_mask, args[0].shape, args[0].device, rate))
        return function(*args, **kwargs)


class _Replay(TorchFunctionMode):
    """Returns draws that were made before, in place of new ones."""

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
        return function(*args, **kwargs)


def _dropout_rate(_input: Tensor, p: float = 0.5, training: bool = True, **_: Any) -> float:
    """The share that a call of ``functional.dropout`` with these arguments drops."""
    return p if training else 0.0
