"""One training loop for every method, task and device, with checkpoints from which a run resumes exactly."""

from tailormix.training.checkpoint import CheckpointError
from tailormix.training.loop import make_fabric, run
from tailormix.training.optimisation import OPTIMISERS, SCHEDULES, Schedule, build_optimiser
from tailormix.training.run_folder import RunError
from tailormix.training.seeding import Sampler
from tailormix.training.settings import Choice, Settings
from tailormix.training.signals import Interrupted
from tailormix.training.trainer import NonFiniteLoss, Setup

__all__ = [
    "OPTIMISERS",
    "SCHEDULES",
    "CheckpointError",
    "Choice",
    "Interrupted",
    "NonFiniteLoss",
    "RunError",
    "Sampler",
    "Schedule",
    "Settings",
    "Setup",
    "build_optimiser",
    "make_fabric",
    "run",
]
