__all__ = ["EXPERIMENTS", "Experiment", "build", "read", "run_experiment"]

from .building import build as build
from .catalogue import EXPERIMENTS as EXPERIMENTS
from .reading import read as read
from .record import Experiment as Experiment
from .running import run_experiment as run_experiment
