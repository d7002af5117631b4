"""The losses by their command-line names."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tailormix import checks
from tailormix.losses.cpc import CPC
from tailormix.losses.crl import CRL
from tailormix.losses.focal import FLSD, FocalLoss
from tailormix.losses.likelihood import CrossEntropy, EntropyPenalty, LabelSmoothing, MbLS
from tailormix.losses.mmce import MMCE, WeightedMMCE

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True)
class LossRecord:
    """A loss: its class, one line about it, where the paper has it, and whether targets may be mixed."""

    criterion: type[nn.Module]
    summary: str
    section: str = "Section 4.2, Table 2"
    soft_targets: bool = True

    @property
    def defaults(self) -> dict[str, Any]:
        """The optional arguments of the class, and their defaults."""
        return {p.name: p.default for p in self._parameters() if p.default is not p.empty}

    @property
    def required(self) -> tuple[str, ...]:
        """The arguments of the class that have no default."""
        return tuple(p.name for p in self._parameters() if p.default is p.empty)

    def _parameters(self) -> list[inspect.Parameter]:
        # CrossEntropy has no arguments and shows those of nn.Module: *args, **kwargs.
        parameters = inspect.signature(self.criterion).parameters.values()
        return [p for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]


LOSSES: dict[str, LossRecord] = {
    "ce": LossRecord(
        CrossEntropy, "log-likelihood of the target; what every other loss extends", "Section 4.1"
    ),
    "ls": LossRecord(LabelSmoothing, "spreads a share alpha of the target evenly over the classes"),
    "focal": LossRecord(FocalLoss, "weighs samples that are already right less, by (1 - p)^gamma"),
    "flsd": LossRecord(FLSD, "focal loss with gamma 5 below probability 0.2 and 3 above"),
    "mmce": LossRecord(MMCE, "penalises a kernel measure of miscalibration over pairs in the batch"),
    "mmce-w": LossRecord(
        WeightedMMCE,
        "MMCE in which right and wrong predictions weigh the same",
        "Section 4.2, Table 2 (variant)",
    ),
    "ecp": LossRecord(EntropyPenalty, "rewards the entropy of the predicted distribution"),
    "crl": LossRecord(
        CRL, "ranks confidence by how often each sample has been right so far", soft_targets=False
    ),
    "cpc": LossRecord(CPC, "sets the right class above the wrong ones and these level, pair by pair"),
    "mbls": LossRecord(MbLS, "penalises logits more than a margin below the largest one"),
}


def build(name: str, **arguments: Any) -> nn.Module:
    """Return the loss called ``name`` on the command line, made with ``arguments``.

    >>> build("ls", alpha=0.1).alpha
    0.1
    >>> build("focl")
    Traceback (most recent call last):
    ValueError: unknown loss 'focl'; did you mean 'focal'? Known: ce, ls, focal, ...
    """
    record = LOSSES[checks.known("loss", name, LOSSES)]
    accepted = [*record.required, *record.defaults] or ["(none)"]
    for argument in arguments:
        checks.known(f"argument of loss {name!r}", argument, accepted)
    return record.criterion(**arguments)
