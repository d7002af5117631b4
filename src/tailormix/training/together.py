"""Train several runs as one batch of models: runs that differ in seed and numbers alone, step by step.

Each run keeps its own trainer, and with it its folder, checkpoints, validation and result; the passes over
the model, the steps of the optimiser and the counting are shared.
"""

from __future__ import annotations

import itertools
import math
import time
from typing import TYPE_CHECKING

import torch

from tailormix.data.series import WindowSplit
from tailormix.data.splits import MemorySplit
from tailormix.training.evaluating import inputs, selecting_split
from tailormix.training.joint_step import JointBatch, JointStep, NotStackable, check_joint
from tailormix.training.optimisation import Schedule, build_optimiser
from tailormix.training.seeding import Stream, derive
from tailormix.training.signals import Interrupted, stop_on_signal
from tailormix.training.trainer import NonFiniteLoss

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from torch import Tensor

    from tailormix.training.trainer import Trainer

#: settings in which runs that are trained together may differ
FREE = ("seed", "optimiser", "schedule", "checkpoint_every", "also", "clip")
FETCHED = 2**22  # values of all members that are fetched at once: 16 MB


def fit_together(trainers: Sequence[Trainer]) -> dict[int, NonFiniteLoss]:
    """Train all to their end; return the errors of those that diverged, by position.

    Runs at the same step take it together. After a kill some may be behind: they catch up first.
    """
    check_together(trainers)
    errors: dict[int, NonFiniteLoss] = {}
    with stop_on_signal() as heard:
        while todo := [
            k
            for k, each in enumerate(trainers)
            if k not in errors and each.state.epoch < each.settings.epochs
        ]:
            position = min(trainers[k].position for k in todo)
            ahead = [trainers[k].position for k in todo if trainers[k].position > position]
            front = {k: trainers[k] for k in todo if trainers[k].position == position}
            errors |= _Front(front).advance(min(ahead, default=None), lambda: heard.signal)
    return errors | _each({k: each for k, each in enumerate(trainers) if k not in errors}, lambda t: t.save())


def check_together(trainers: Sequence[Trainer]) -> None:
    """Raise :class:`NotStackable` where runs cannot be trained together; nothing is changed."""
    first = trainers[0]
    for name, value in vars(first.settings).items():
        if name not in FREE and any(getattr(each.settings, name) != value for each in trainers):
            raise NotStackable(f"runs trained together must have the same {name}")
    settings = first.settings
    if first.fabric.world_size > 1 or settings.compile or settings.precision != "32-true":
        raise NotStackable("runs are trained together on one device, at full precision and not compiled")
    if len({each.sampler.rows for each in trainers}) > 1:
        raise NotStackable("runs trained together must have the same number of training rows")
    if todo := [each for each in trainers if each.state.epoch < settings.epochs]:
        for each in todo:
            each.refresh_bank()
        check_joint([each.step.module for each in todo], [next(each.batches(0, 0)) for each in todo])


class _Front:
    """The runs that take their next steps together."""

    def __init__(self, trainers: Mapping[int, Trainer]) -> None:
        self.trainers = trainers
        self.members = list(trainers.values())
        self.joint = JointStep([each.step.module for each in self.members])
        stacks = [stack for name, stack in self.joint.parameters.items() if name.startswith("model.")]
        self.blocks = list(_blocks(self.members, stacks))
        self.clips = [each.settings.clip or math.inf for each in self.members]

    def advance(self, until: tuple[int, int] | None, signal: Callable[[], int]) -> dict[int, NonFiniteLoss]:
        """Train to a position or to the end; stops early where a run diverges, and returns its error."""
        first = self.members[0]
        while first.state.epoch < first.settings.epochs and first.position != until:
            last = until[1] if until and until[0] == first.state.epoch else first.sampler.steps
            if errors := self._train(last, signal):
                return errors
            if first.position == until:
                break
            for block in self.blocks:
                block.tell_rates()
            outputs = dict(zip(self.members, self._outputs(), strict=True))
            if errors := _each(self.trainers, lambda each: each.finish_epoch(outputs[each])):  # noqa: B023
                return errors
        return {}

    def _outputs(self) -> Sequence[Tensor | None]:
        """What each member answers on the split that selects; None where these differ in length."""
        splits = [getattr(each.setup.data, selecting_split(each.settings)) for each in self.members]
        if len({len(split) for split in splits}) > 1 or not len(splits[0]):
            return [None] * len(splits)
        own = [
            inputs(split, each.fabric, each.settings)
            for split, each in zip(splits, self.members, strict=True)
        ]
        parts = [self.joint.outputs(torch.stack(x)) for x in zip(*own, strict=True)]
        return list(torch.cat(parts, dim=1).float())

    def _train(self, last: int, signal: Callable[[], int]) -> dict[int, NonFiniteLoss]:
        """Take the steps of the epoch up to the one numbered ``last``; the errors of runs that diverge."""
        for each in self.members:
            each.refresh_bank()
        self.joint.module.train()
        started = [time.monotonic() - each.state.seconds for each in self.members]
        total = torch.tensor([each.state.loss for each in self.members], dtype=torch.float64)

        def tell(step: int) -> None:
            for each, loss, begin in zip(self.members, total.tolist(), started, strict=True):
                each.state.step, each.state.loss = step, loss
                each.state.seconds = time.monotonic() - begin

        first = self.members[0].state.step
        for step, batch in zip(range(first, last), self._batches(), strict=False):
            losses = self.joint.losses(batch)
            if not losses.isfinite().all():  # the weights are still good
                tell(step)
                return {
                    k: each.non_finite("the loss is not finite", each.steps_done)
                    for (k, each), loss in zip(self.trainers.items(), losses.tolist(), strict=True)
                    if not math.isfinite(loss)
                }
            self._update(losses)
            total += losses.detach().cpu()
            due = min(each.saved_at + each.settings.checkpoint_every for each in self.members)
            if signal() or time.monotonic() >= due:
                tell(step + 1)
                if errors := _each(self.trainers, lambda each: each.save_if_due(signal())):
                    return errors
        tell(last)
        return {}

    def _update(self, losses: Tensor) -> None:
        """One step of the optimisers, down the gradients of these losses (k,)."""
        losses.sum().backward()  # type: ignore[no-untyped-call]
        clip_gradients(list(self.joint.parameters.values()), self.clips)
        for block in self.blocks:
            block.step()
        for stack in self.joint.parameters.values():
            stack.grad = None

    def _batches(self) -> Iterator[JointBatch]:
        """The remaining batches of the epoch."""
        splits = [each.setup.data.train for each in self.members]
        if not all(
            isinstance(each, WindowSplit) or (isinstance(each, MemorySplit) and each.transform is None)
            for each in splits
        ):  # augmented batch by batch
            members = (each.batches(*each.position) for each in self.members)
            yield from map(JointBatch.of, zip(*members, strict=True))
            return
        first = self.members[0]
        epoch, begin = first.position
        size = len(self.members) * first.sampler.batch * math.prod(splits[0].input_shape)
        ahead = max(1, FETCHED // size)
        plans = [each.sampler.batches(epoch) for each in self.members]
        for start in range(begin, first.sampler.steps, ahead):
            rows = torch.stack([torch.cat(plan[start : start + ahead]) for plan in plans])
            fetched = [self._fetch(each, own) for each, own in zip(self.members, rows, strict=True)]
            stacks = {name: torch.stack([each[name] for each in fetched]) for name in fetched[0]}
            parts = {name: torch.split(stack, first.sampler.batch, dim=1) for name, stack in stacks.items()}
            for number, step in enumerate(range(start, min(start + ahead, first.sampler.steps))):
                batch = {name: part[number] for name, part in parts.items()}
                seeds = [derive(each.settings.seed, Stream.STEP, epoch, step, 0) for each in self.members]
                yield JointBatch(batch.pop("x"), batch.pop("y"), seeds, batch)

    @staticmethod
    def _fetch(trainer: Trainer, rows: Tensor) -> dict[str, Tensor]:
        """Training rows of one run, with all that a step asks for."""
        x, y = trainer.setup.data.train.batch(rows)
        ids = rows.to(x.device)
        known = {} if trainer.bank is None else {"embeddings": trainer.bank[ids]}
        return {"x": x, "y": y, "ids": ids, **known}


class _Block:
    """Neighbours with one optimiser and schedule, as one optimiser over their rows of the stacks.

    The state of every member's own optimiser, which its checkpoints save, are views of this one's.
    """

    def __init__(self, members: Sequence[Trainer], stacks: Sequence[Tensor], begin: int) -> None:
        self.members, self.stacks = members, stacks
        self.rows = slice(begin, begin + len(members))
        settings, sampler = members[0].settings, members[0].sampler
        self.parameters = [stack.detach()[self.rows] for stack in stacks]
        self.optimiser = build_optimiser(settings.optimiser.name, self.parameters, settings.optimiser.options)
        self.schedule = Schedule(
            self.optimiser,
            settings.schedule.name,
            settings.schedule.options,
            epochs=settings.epochs,
            steps=sampler.steps,
        )
        for _ in range(members[0].steps_done):
            self.schedule.advance()
        for parameter, own in zip(self.parameters, self._own_parameters(), strict=True):
            states = [each.optimiser.optimizer.state.get(p, {}) for each, p in zip(members, own, strict=True)]
            if states[0]:
                self.optimiser.state[parameter] = {
                    key: value.clone() if key == "step" else torch.stack([state[key] for state in states])
                    for key, value in states[0].items()
                }
        self._share_state()

    def step(self) -> None:
        """One step with the gradients of the stacks."""
        self.schedule.advance()
        for parameter, stack in zip(self.parameters, self.stacks, strict=True):
            parameter.grad = None if stack.grad is None else stack.grad[self.rows]
        known = len(self.optimiser.state)
        self.optimiser.step()
        if len(self.optimiser.state) != known:
            self._share_state()

    def tell_rates(self) -> None:
        """Set the learning rate in every member's own optimiser, which reports it."""
        for each in self.members:
            each.optimiser.param_groups[0]["lr"] = self.optimiser.param_groups[0]["lr"]

    def _share_state(self) -> None:
        for parameter, own in zip(self.parameters, self._own_parameters(), strict=True):
            state = self.optimiser.state.get(parameter, {})
            for k, (each, row) in enumerate(zip(self.members, own, strict=True) if state else ()):
                each.optimiser.optimizer.state[row] = {
                    key: value if key == "step" else value[k] for key, value in state.items()
                }

    def _own_parameters(self) -> Iterator[tuple[Tensor, ...]]:
        """The members' parameters that lie in each stack."""
        return zip(
            *(each.optimiser.optimizer.param_groups[0]["params"] for each in self.members), strict=True
        )


def _blocks(members: Sequence[Trainer], stacks: Sequence[Tensor]) -> Iterator[_Block]:
    begin = 0
    for _, same in itertools.groupby(members, lambda each: (each.settings.optimiser, each.settings.schedule)):
        block = _Block(list(same), stacks, begin)
        begin += len(block.members)
        yield block


def clip_gradients(stacks: Sequence[Tensor], limits: Sequence[float]) -> None:
    """Scale the gradients of each member so that their common norm is at most its limit; ∞ for none.

    >>> stack = torch.zeros(2, 2)
    >>> stack.grad = torch.tensor([[3.0, 4.0], [3.0, 4.0]])
    >>> clip_gradients([stack], [1.0, math.inf])
    >>> stack.grad
    tensor([[0.6000, 0.8000],
            [3.0000, 4.0000]])
    """
    gradients = [stack.grad for stack in stacks if stack.grad is not None]
    if all(math.isinf(limit) for limit in limits) or not gradients:
        return
    squares = [gradient.reshape(len(limits), -1).square().sum(1) for gradient in gradients]
    norms = torch.stack(squares).sum(0).sqrt()
    factors = (norms.new_tensor(limits) / (norms + 1e-6)).clamp(max=1)
    for gradient in gradients:
        gradient.mul_(factors.view(-1, *(1,) * (gradient.dim() - 1)))


def _each(trainers: Mapping[int, Trainer], action: Callable[[Trainer], None]) -> dict[int, NonFiniteLoss]:
    """Do something for every run; a run that diverged or was asked to stop keeps no other from it."""
    errors: dict[int, NonFiniteLoss] = {}
    stopped: Interrupted | None = None
    for k, each in trainers.items():
        try:
            action(each)
        except NonFiniteLoss as error:
            errors[k] = error
        except Interrupted as error:
            stopped = error
    if stopped is not None:
        raise stopped
    return errors
