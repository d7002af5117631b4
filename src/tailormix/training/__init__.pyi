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

from .checkpoint import CheckpointError as CheckpointError
from .folder import RunError as RunError
from .loop import NonFiniteLoss as NonFiniteLoss
from .loop import fit as fit
from .optimisers import OPTIMISERS as OPTIMISERS
from .optimisers import build_optimiser as build_optimiser
from .parts import Parts as Parts
from .parts import make_fabric as make_fabric
from .running import run as run
from .sampling import Sampler as Sampler
from .schedules import SCHEDULES as SCHEDULES
from .schedules import schedule as schedule
from .settings import Choice as Choice
from .settings import Settings as Settings
from .signals import Interrupted as Interrupted
