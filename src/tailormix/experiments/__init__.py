"""Experiments: what is trained on what, as data in files, and the runs that come of it."""

from tailormix.experiments.building import build
from tailormix.experiments.experiment import EXPERIMENTS, Experiment, read
from tailormix.experiments.running import run_experiment
from tailormix.experiments.trained import Interval, TrainedRun, load_run

__all__ = [
    "EXPERIMENTS",
    "Experiment",
    "Interval",
    "TrainedRun",
    "build",
    "load_run",
    "read",
    "run_experiment",
]
