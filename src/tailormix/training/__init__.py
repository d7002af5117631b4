"""One loop for every method, task and device, and checkpoints that lose nothing."""

from tailormix.training.checkpoint import CheckpointError
from tailormix.training.loop import NonFiniteLoss, Parts, fit, make_fabric, run
from tailormix.training.optimisation import OPTIMISERS, SCHEDULES, build_optimiser, schedule
from tailormix.training.run_folder import RunError
from tailormix.training.seeding import Sampler
from tailormix.training.settings import Choice, Settings
from tailormix.training.signals import Interrupted

__all__ = [
    "OPTIMISERS",
    "SCHEDULES",
    "CheckpointError",
    "Choice",
    "Interrupted",
    "NonFiniteLoss",
    "Parts",
    "RunError",
    "Sampler",
    "Settings",
    "build_optimiser",
    "fit",
    "make_fabric",
    "run",
    "schedule",
]
