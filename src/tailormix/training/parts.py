"""What a run is made of, and the machine it runs on."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import torch

from .one_cpu import OneCPU

if TYPE_CHECKING:
    from lightning_fabric import Fabric
    from torch import nn

    from tailormix.data import DataSplits
    from tailormix.method import Method
    from tailormix.words import Criterion

    from .settings import Settings


@dataclass(frozen=True, eq=False)
class Parts:
    """Data, model, method and criterion; None stands for cross-entropy or squared error."""

    data: DataSplits
    model: nn.Module
    method: Method
    criterion: Criterion | None = None


def make_fabric(settings: Settings) -> Fabric:
    """One device, or every process that ``torchrun`` started, under DDP (gloo on CPUs, nccl on GPUs)."""
    alone = "TORCHELASTIC_RUN_ID" not in os.environ
    if alone and settings.precision == "32-true" and _on_cpu(settings.accelerator):
        return cast("Fabric", OneCPU())
    from lightning_fabric import Fabric

    machine: dict[str, Any] = {"accelerator": settings.accelerator, "precision": settings.precision}
    if alone:
        return Fabric(devices=1, **machine)
    here, everywhere = int(os.environ["LOCAL_WORLD_SIZE"]), int(os.environ["WORLD_SIZE"])
    fabric = Fabric(devices=here, num_nodes=everywhere // here, strategy="ddp", **machine)
    fabric.launch()
    return fabric


def _on_cpu(accelerator: str) -> bool:
    """Whether this accelerator is the CPU here: ``auto`` takes what there is."""
    if accelerator == "auto":
        return not (torch.cuda.is_available() or torch.backends.mps.is_available())
    return accelerator == "cpu"
