"""The losses by their command-line names."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from tailormix import checks

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch import nn


@dataclass(frozen=True)
class LossRecord:
    """What the command line tells about a loss, and where its class is: ``loads`` is ``module:Class``.

    ``section`` says where the paper has it, ``reference`` who published it; ``required`` and ``defaults`` are
    the arguments of the class.
    """

    name: str
    summary: str
    loads: str
    section: str
    reference: str
    defaults: Mapping[str, float | bool | None] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    soft_targets: bool = True
    needs_ids: bool = False


LOSSES: dict[str, LossRecord] = {
    "ce": LossRecord(
        name="Cross-entropy",
        summary="log-likelihood of the target; what every other loss extends",
        loads="tailormix.losses.likelihood:CrossEntropy",
        section="Section 4.1",
        reference="standard",
    ),
    "ls": LossRecord(
        name="Label smoothing",
        summary="spreads a share alpha of the target evenly over the classes",
        loads="tailormix.losses.likelihood:LabelSmoothing",
        section="Section 4.2, Table 2",
        reference="Szegedy et al. 2016; Müller et al. 2019",
        defaults={"alpha": 0.05},
    ),
    "focal": LossRecord(
        name="Focal loss",
        summary="weighs samples that are already right less, by (1 - p)^gamma",
        loads="tailormix.losses.focal:FocalLoss",
        section="Section 4.2, Table 2",
        reference="Lin et al. 2017; Mukhoti et al. 2020",
        defaults={"gamma": 3.0},
    ),
    "flsd": LossRecord(
        name="FLSD-53",
        summary="focal loss with gamma 5 below probability 0.2 and 3 above",
        loads="tailormix.losses.focal:FLSD",
        section="Section 4.2, Table 2",
        reference="Mukhoti et al. 2020",
        defaults={"gamma": 3.0, "gamma_unsure": 5.0, "threshold": 0.2},
    ),
    "mmce": LossRecord(
        name="MMCE",
        summary="penalises a kernel measure of miscalibration over pairs in the batch",
        loads="tailormix.losses.mmce:MMCE",
        section="Section 4.2, Table 2",
        reference="Kumar et al. 2018",
        defaults={"weight": 1.0, "width": 0.4},
    ),
    "mmce-w": LossRecord(
        name="Weighted MMCE",
        summary="MMCE in which right and wrong predictions weigh the same",
        loads="tailormix.losses.mmce:WeightedMMCE",
        section="Section 4.2, Table 2 (variant)",
        reference="Kumar et al. 2018",
        defaults={"weight": 2.0, "width": 0.4, "double_division": False},
    ),
    "ecp": LossRecord(
        name="ECP",
        summary="rewards the entropy of the predicted distribution",
        loads="tailormix.losses.likelihood:EntropyPenalty",
        section="Section 4.2, Table 2",
        reference="Pereyra et al. 2017",
        defaults={"alpha": 0.1, "class_mean": False},
    ),
    "crl": LossRecord(
        name="CRL",
        summary="ranks confidence by how often each sample has been right so far",
        loads="tailormix.losses.crl:CRL",
        section="Section 4.2, Table 2",
        reference="Moon et al. 2020",
        required=("size",),
        defaults={"weight": 1.0, "group": None},
        soft_targets=False,
        needs_ids=True,
    ),
    "cpc": LossRecord(
        name="CPC",
        summary="sets the right class above the wrong ones and these level, pair by pair",
        loads="tailormix.losses.cpc:CPC",
        section="Section 4.2, Table 2",
        reference="Cheng and Vasconcelos 2022",
        defaults={"discrimination": 0.1, "exclusion": 1.0},
    ),
    "mbls": LossRecord(
        name="MbLS",
        summary="penalises logits more than a margin below the largest one",
        loads="tailormix.losses.likelihood:MbLS",
        section="Section 4.2, Table 2",
        reference="Liu et al. 2022",
        defaults={"alpha": 0.1, "margin": 10.0},
    ),
}


def build(name: str, **arguments: object) -> nn.Module:
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
    module, _, attribute = record.loads.partition(":")
    loss = getattr(importlib.import_module(module), attribute)
    return cast("nn.Module", loss(**arguments))
