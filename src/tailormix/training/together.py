"""Train several runs as one batch of models: runs that differ in seed and numbers alone, step by step.

Each run keeps its own trainer, and with it its folder, checkpoints, validation and result; only the passes
over the model are shared.
"""

from __future__ import annotations

import itertools
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import torch

from tailormix.training.joint_step import JointStep, NotStackable, check_joint
from tailormix.training.optimisation import build_optimiser
from tailormix.training.signals import Interrupted, stop_on_signal
from tailormix.training.trainer import NonFiniteLoss

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from torch import Tensor, optim

    from tailormix.training.trainer import Trainer

#: settings in which runs that are trained together may differ
FREE = ("seed", "optimiser", "schedule", "checkpoint_every", "also", "clip")


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

    def __init__(self, trainers: dict[int, Trainer]) -> None:
        self.trainers = trainers
        self.members = list(trainers.values())
        self.joint = JointStep([each.step.module for each in self.members])
        self.optimiser = self._joint_optimiser()

    def advance(self, until: tuple[int, int] | None, signal: Callable[[], int]) -> dict[int, NonFiniteLoss]:
        """Train to a position or to the end; stops early where a run diverges, and returns its error."""
        first = self.members[0]
        while first.state.epoch < first.settings.epochs and first.position != until:
            try:
                for _ in self._epoch():
                    if errors := _each(self.trainers, lambda each: each.save_if_due(signal())):
                        return errors
                    if first.position == until:
                        return {}
            except _Diverged as error:
                return {
                    k: each.non_finite("the loss is not finite", each.steps_done)
                    for (k, each), finite in zip(self.trainers.items(), error.finite, strict=True)
                    if not finite
                }
            if errors := _each(self.trainers, lambda each: each.finish_epoch()):
                return errors
        return {}

    def _epoch(self) -> Iterator[Any]:
        """The rest of the epoch, counted by every member."""
        for each in self.members:
            each.refresh_bank()
        columns = itertools.tee(self._steps(), len(self.members))
        counted = [
            each.count(map(itemgetter(k), column))
            for k, (each, column) in enumerate(zip(self.members, columns, strict=True))
        ]
        return zip(*counted, strict=True)

    def _steps(self) -> Iterator[Tensor]:
        """Take the remaining steps of the epoch; yields the losses (k,) of each."""
        for each in self.members:
            each.step.train()
        for batches in zip(*(each.batches(*each.position) for each in self.members), strict=True):
            for each in self.members:
                each.schedule.advance()
            losses = self.joint.losses(batches)
            if not (finite := losses.isfinite()).all():
                raise _Diverged(finite.tolist())
            self.joint.backward(losses)
            for each in self.members:
                if each.settings.clip:
                    torch.nn.utils.clip_grad_norm_(each.setup.model.parameters(), each.settings.clip)
            self._update()
            self.joint.zero_grad()
            yield losses.detach()

    def _update(self) -> None:
        """One step of the optimiser: over the stacks where all have one, else one by one."""
        if self.optimiser is None:
            for each in self.members:
                each.optimiser.optimizer.step()
            return
        for group in self.optimiser.param_groups:
            group["lr"] = self.members[0].optimiser.param_groups[0]["lr"]
        known = bool(self.optimiser.state)
        self.optimiser.step()
        if not known:
            self._share_state()

    def _joint_optimiser(self) -> optim.Optimizer | None:
        """An optimiser over the stacks, in the state of the members'; None where their settings differ."""
        chosen = self.members[0].settings.optimiser
        schedules = [(each.settings.optimiser, each.settings.schedule) for each in self.members]
        if any(each != schedules[0] for each in schedules):
            return None
        stacks = list(self.joint.parameters.values())
        optimiser = build_optimiser(chosen.name, stacks, chosen.options)
        for stack, rows in self._rows(optimiser):
            states = [
                each.optimiser.optimizer.state.get(row, {})
                for each, row in zip(self.members, rows, strict=True)
            ]
            if states[0]:
                optimiser.state[stack] = {
                    key: torch.stack([state[key] for state in states]) if value.dim() else value.clone()
                    for key, value in states[0].items()
                }
        if optimiser.state:
            self._share_state(optimiser)
        return optimiser

    def _share_state(self, optimiser: optim.Optimizer | None = None) -> None:
        """Make the state of every member's own optimiser views of the joint one's: checkpoints save those."""
        joint = optimiser or self.optimiser
        assert joint is not None
        for stack, rows in self._rows(joint):
            for k, (each, row) in enumerate(zip(self.members, rows, strict=True)):
                each.optimiser.optimizer.state[row] = {
                    key: value[k] if value.dim() else value for key, value in joint.state[stack].items()
                }

    def _rows(self, optimiser: optim.Optimizer) -> Iterator[tuple[Tensor, list[Tensor]]]:
        """Every stacked parameter with the members' parameters."""
        stacks = optimiser.param_groups[0]["params"]
        rows = [each.optimiser.optimizer.param_groups[0]["params"] for each in self.members]
        return ((stack, [row[number] for row in rows]) for number, stack in enumerate(stacks))


class _Diverged(Exception):
    """Some losses are not finite; ``finite`` tells which are."""

    def __init__(self, finite: list[bool]) -> None:
        super().__init__(finite)
        self.finite = finite


def _each(trainers: dict[int, Trainer], action: Callable[[Trainer], None]) -> dict[int, NonFiniteLoss]:
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
