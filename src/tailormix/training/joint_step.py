"""The steps of k models of one architecture as one: a pass over stacked parameters instead of k passes.

Small models spend their time in Python. Here the steps of k members become one step: their parameters lie in
stacked tensors (k, ...), and one ``torch.func.vmap`` makes their losses and gradients. Each member keeps its
own seed, batches and draws, and ends where its own single run would.
"""

from __future__ import annotations

import copy
import dataclasses
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any, final

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap
from torch.fx.experimental.proxy_tensor import make_fx

from tailormix import checks
from tailormix.training.draws import Draw, Replay, record
from tailormix.training.seeding import reseed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from tailormix.components import Criterion
    from tailormix.method import Method, Step
    from tailormix.training.optimisation import TrainingBatch

TRACE_AFTER = 100  # steps: a trace takes about as long as it saves in so many


class NotStackable(ValueError):
    """These models cannot be trained together; the message says why."""


@dataclasses.dataclass(frozen=True, eq=False)
class JointBatch:
    """One batch per member: inputs and targets (k, n, ...), the seed of each, and options (k, n, ...)."""

    x: Tensor
    y: Tensor
    seeds: Sequence[int]
    options: Mapping[str, Tensor] = dataclasses.field(default_factory=dict)

    @classmethod
    def of(cls, batches: Sequence[TrainingBatch]) -> JointBatch:
        """The batches of the members, stacked."""
        x, y = torch.stack([batch.x for batch in batches]), torch.stack([batch.y for batch in batches])
        options = _stack_options([batch.options for batch in batches])
        return cls(x, y, [batch.seed for batch in batches], options)


@final
class JointStep:
    """k steps as one: ``losses(batches)`` are (k,), with gradients for the stacked ``parameters``.

    The parameters and buffers of the members become views into the stacks, so that each member's checkpoint
    and evaluation work as before. Raises :class:`NotStackable` where the members differ in more than numbers.

    >>> from tailormix import Mixup, Step
    >>> from tailormix.training.optimisation import TrainingBatch
    >>> members = [Step(nn.Linear(2, 3), Mixup()) for _ in range(4)]
    >>> batches = [TrainingBatch(torch.rand(8, 2), torch.arange(8) % 3, seed=k) for k in range(4)]
    >>> joint = JointStep(members)
    >>> losses = joint.losses(batches)
    >>> losses.sum().backward()
    >>> losses.shape, joint.parameters["model.weight"].grad.shape
    (torch.Size([4]), torch.Size([4, 3, 2]))
    """

    def __init__(self, steps: Sequence[Step], *, trace_after: int = TRACE_AFTER) -> None:
        if not steps:
            raise ValueError("steps must hold at least one member, got none")
        _check_alike([step.model for step in steps])
        _check_same_loss([step.criterion for step in steps])
        self.steps = tuple(steps)
        self.method = _Stacked.of("method", [step.method for step in steps])
        self.module = _Member(steps[0].model, steps[0].criterion)
        members = [_Member(step.model, step.criterion) for step in steps]
        parameters = [dict(member.named_parameters()) for member in members]
        buffers = [dict(member.named_buffers()) for member in members]
        self.parameters = {name: _stack_parameters([p[name] for p in parameters]) for name in parameters[0]}
        self.buffers = {name: _stack_buffers([b[name] for b in buffers]) for name in buffers[0]}
        self._draws: dict[Any, list[Draw]] = {}
        self._trace_after = trace_after
        self._seen: Counter[Any] = Counter()
        self._traces: dict[Any, Callable[..., Sequence[Any]]] = {}

    def losses(self, batches: JointBatch | Sequence[TrainingBatch]) -> Tensor:
        """The loss of each member on its own batch with the draws of its own seed, (k,).

        Once many batches of a shape were seen, the step is traced and then replayed: the same operations,
        without the Python around them. A step of ten Airfoil networks takes half the time that way.
        """
        batch = batches if isinstance(batches, JointBatch) else JointBatch.of(batches)
        key, draws = self._draw(batch)
        rows = (*batch.options.values(), batch.x, batch.y)
        tensors = [
            *self.parameters.values(),
            *self.buffers.values(),
            *self.method.leaves,
            *draws,
            *(tensor.contiguous() for tensor in rows),  # a trace holds for one memory layout
        ]
        program = self._traces.get(key) or partial(
            self._losses_and_gradients, len(draws), tuple(batch.options)
        )
        self._seen[key] += 1
        with checks.trusted():
            if self._seen[key] == self._trace_after + 1:  # on copies, since a pass may change buffers
                program = make_fx(program)(*(tensor.detach().clone() for tensor in tensors))
                self._traces[key] = program
            losses: Tensor = _Losses.apply(  # type: ignore[no-untyped-call]
                program, len(self.parameters), *tensors
            )
        return losses

    @torch.no_grad()
    def outputs(self, x: Tensor) -> Tensor:
        """The members' outputs (k, n, ...) for their own inputs (k, n, ...), in evaluation mode."""
        tensors = {
            name.removeprefix("model."): stack
            for name, stack in (self.parameters | self.buffers).items()
            if name.startswith("model.")
        }
        model, training = self.module.model, self.module.model.training
        model.eval()
        try:
            found: Tensor = vmap(lambda own, rows: functional_call(model, own, (rows,)))(tensors, x)
        finally:
            model.train(training)
        return found

    def _losses_and_gradients(
        self, draws: int, options: Sequence[str], *tensors: Tensor
    ) -> tuple[Tensor | None, ...]:
        """The losses (k,) and the gradient for each stack of parameters; buffers are changed in place."""
        each = iter(tensors)
        parameters = {name: next(each).detach() for name in self.parameters}
        buffers = {name: next(each) for name in self.buffers}
        leaves = [next(each) for _ in self.method.leaves]
        drawn = [next(each) for _ in range(draws)]
        given = {name: next(each) for name in options}
        x, y = each
        trained = [
            parameters[name].requires_grad_() for name, p in self.parameters.items() if p.requires_grad
        ]
        with torch.enable_grad():
            vectorised = vmap(self._loss, randomness="error")
            losses, changed = vectorised(parameters, buffers, leaves, drawn, x, y, given)
            found = iter(torch.autograd.grad(losses.sum(), trained, allow_unused=True))
        for name, value in changed.items():
            buffers[name].copy_(value)
        gradients = (next(found) if p.requires_grad else None for p in self.parameters.values())
        return losses.detach(), *(None if each is None else each.contiguous() for each in gradients)

    def _loss(
        self,
        parameters: Mapping[str, Tensor],
        buffers: Mapping[str, Tensor],
        leaves: Sequence[Tensor],
        draws: Sequence[Tensor],
        x: Tensor,
        y: Tensor,
        options: Mapping[str, Any],
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """The loss of one member, as ``vmap`` sees it, and the buffers that were replaced by new ones."""
        own = {**parameters, **buffers}
        with Replay(draws):
            loss: Tensor = functional_call(self.module, own, (self.method.rebuild(leaves), x, y, options))
        return loss, {name: own[name] for name, given in buffers.items() if own[name] is not given}

    def _draw(self, batch: JointBatch) -> tuple[Any, list[Tensor]]:
        """What batches of this shape are known by, and the random numbers (k, ...), by each member's seed."""
        key = (batch.x.shape, batch.y.shape, tuple(batch.options), self.steps[0].training)
        if key not in self._draws:
            options = {name: value[0] for name, value in batch.options.items()}
            draws = record(self.steps[0], batch.seeds[0], batch.x[0], batch.y[0], **options)
            if draws is None:
                raise NotStackable(
                    "models trained together may draw by torch.rand, torch.randint and dropout only"
                )
            self._draws[key] = draws
        stacks = [draw.empty(len(batch.seeds)) for draw in self._draws[key]]
        drawn: dict[int, int] = {}  # members of one seed draw the same
        for k, seed in enumerate(batch.seeds):
            if (same := drawn.setdefault(seed, k)) == k:
                reseed(seed, batch.x.device)
            for draw, stack in zip(self._draws[key], stacks, strict=True):
                draw.fill(stack[k]) if same == k else stack[k].copy_(stack[same])
        return key, [draw.scaled(stack) for draw, stack in zip(self._draws[key], stacks, strict=True)]


class _Losses(torch.autograd.Function):
    """Runs a program that makes losses (k,) and their gradients at once."""

    @staticmethod
    def forward(
        context: Any, program: Callable[..., Sequence[Any]], parameters: int, *tensors: Tensor
    ) -> Tensor:
        losses, *context.gradients = program(*tensors)
        context.others = len(tensors) - parameters
        found: Tensor = losses
        return found

    @staticmethod
    def backward(context: Any, *outer: Tensor) -> tuple[Tensor | None, ...]:
        gradients = [
            None if each is None else each * outer[0].view(-1, *(1,) * (each.dim() - 1))
            for each in context.gradients
        ]
        return None, None, *gradients, *(None,) * context.others


def check_joint(steps: Sequence[Step], batches: Sequence[TrainingBatch]) -> None:
    """Raise :class:`NotStackable` unless the joint losses are those of single steps; nothing is changed."""
    singles, copies = copy.deepcopy(list(steps)), copy.deepcopy(list(steps))
    entered = _track(copies[0].model)
    with (
        torch.random.fork_rng(devices=[batches[0].x.device] if batches[0].x.is_cuda else []),
        torch.no_grad(),
    ):
        try:
            joint = JointStep(copies).losses(batches)
        except RuntimeError as error:  # what vmap cannot do
            where = f"in module {entered[-1]!r}: " if entered else ""
            raise NotStackable(
                f"these models cannot be trained together: {where}{str(error).split('. ')[0]}"
            ) from error
        for k, (step, batch) in enumerate(zip(singles, batches, strict=True)):
            reseed(batch.seed, batch.x.device)
            single = step(batch.x, batch.y, **batch.options)
            if not torch.allclose(joint[k], single, rtol=1e-3, atol=1e-4, equal_nan=True):
                found = f"the loss would be {joint[k]:.6g} instead of {single:.6g}"
                raise NotStackable(f"these models cannot be trained together: {found}")


def _track(model: nn.Module) -> list[str]:
    """The names of the modules that a pass has entered and not left: after an error, the last is where."""
    entered: list[str] = []

    def enter(name: str, *_: Any) -> None:
        entered.append(name)

    def leave(*_: Any) -> None:
        entered.pop()

    for name, module in model.named_modules():
        module.register_forward_pre_hook(partial(enter, name or type(model).__name__))
        module.register_forward_hook(leave)
    return entered


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


def _check_same_loss(criteria: Sequence[Criterion | None]) -> None:
    """Raise unless all criteria are one, or are made alike: the first computes the losses of all members."""
    for number, criterion in enumerate(criteria):
        found = _difference("criterion", criteria[0], criterion)
        if found is not None:
            raise NotStackable(
                "models trained together must have the same loss, with the same options, "
                f"but of members 0 and {number} {found}"
            )


def _difference(name: str, one: Any, other: Any) -> str | None:
    """The first setting in which two criteria differ, in words; ``None`` where they are made alike."""
    if one is other:
        return None
    settings, others = _settings(one), _settings(other)
    if type(one) is type(other) and settings and settings.keys() == others.keys():
        found = (_difference(key, settings[key], others[key]) for key in settings)
        return next((each for each in found if each is not None), None)
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        return None if torch.equal(one, other) else f"{name} differs"
    return None if bool(one == other) else f"{name} is {one} and {other}"


def _settings(criterion: Any) -> dict[str, Any]:
    """What a criterion was made of, by name; of its parameters and buffers, which are stacked, the shapes."""
    if isinstance(criterion, nn.Module):
        public = {name: value for name, value in vars(criterion).items() if not name.startswith("_")}
        return {**public, "tensors": _tensors(criterion), **dict(criterion.named_children())}
    if isinstance(criterion, partial):
        return {"function": criterion.func, "arguments": criterion.args, **criterion.keywords}
    return {}


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
        for path, leaf in found.items():
            try:
                _replaced(values[0], path, leaf[0])
            except TypeError as error:  # not all numbers may be tensors
                raise NotStackable(f"methods trained together must share their {path[-1]}") from error
        return cls(values[0], tuple(found), tuple(found.values()))

    def rebuild(self, leaves: Sequence[Tensor]) -> Any:
        """The method with these values in place of the leaves."""
        value = self.template
        for path, leaf in zip(self.paths, leaves, strict=True):
            value = _replaced(value, path, leaf)
        return value


def _differences(
    name: str, values: Sequence[Any], kind: str = ""
) -> Iterator[tuple[tuple[str, ...], Tensor]]:
    """The path and the stacked values of every number or tensor in which dataclasses differ.

    ``kind`` is the type that the field declares.
    """
    if "float" in kind:
        values = [float(value) if type(value) is int else value for value in values]
    first = values[0]
    if any(type(value) is not type(first) for value in values):
        raise NotStackable(f"methods trained together must be of one recipe, but their {name} differ")
    if dataclasses.is_dataclass(first):
        for field in dataclasses.fields(first):
            inner = _differences(
                field.name, [getattr(value, field.name) for value in values], str(field.type)
            )
            yield from (((field.name, *path), leaf) for path, leaf in inner)
    elif isinstance(first, Tensor) and all(value is first for value in values):
        return
    elif isinstance(first, Tensor) and len({value.shape for value in values}) == 1:
        yield (), _stack_buffers(values)
    elif isinstance(first, Tensor) or any(value != first for value in values):
        if not isinstance(first, float):
            raise NotStackable(
                f"methods trained together may differ in numbers only, but their {name} differ"
            )
        if 0 in values:
            raise NotStackable(f"{name} = 0 is another method, which cannot be trained with other {name}")
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
