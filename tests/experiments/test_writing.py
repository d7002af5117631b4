"""An experiment written to a file and read again is the same experiment."""

import pytest

from tailormix.experiments import EXPERIMENTS, read
from tailormix.experiments.experiment import to_toml, write_toml
from tailormix.experiments.running import fingerprint, run_name


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_written_experiment_is_read_as_the_same(name, tmp_path):
    experiment = read(name, ["method=regmixup", "schedule=steps", "schedule.milestones=[3, 5]", "seed=7"])
    again = read(write_toml(experiment, tmp_path / "again.toml"))
    assert again == experiment
    assert fingerprint(again) == fingerprint(experiment)


def test_defaults_are_left_out():
    text = to_toml(read("moons", ["precision=32-true"]))
    assert "precision" not in text
    assert "epochs" in text


def test_the_fingerprint_ignores_seed_and_what_is_left_at_its_default():
    base = read("moons")
    assert fingerprint(read("moons", ["seed=5", "clip=0.0", "workers=3"])) == fingerprint(base)
    assert fingerprint(read("moons", ["clip=1.0"])) != fingerprint(base)


def test_a_run_is_named_by_data_model_and_method():
    assert run_name(read("digits-mlp", ["method=mixup"])).startswith("digits-mlp-mixup-")
