"""Experiments: what is trained on what, as data in files, and the runs that come of it."""

from tailormix.experiments.building import build
from tailormix.experiments.experiment import EXPERIMENTS, Experiment, read
from tailormix.experiments.running import run_experiment

__all__ = ["EXPERIMENTS", "Experiment", "build", "read", "run_experiment"]
