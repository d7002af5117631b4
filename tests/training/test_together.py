"""Several runs trained as one batch of models."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest
import torch

from tailormix.experiments import building, read, run_experiment
from tailormix.experiments.running import run_together
from tailormix.training import Interrupted, NonFiniteLoss, checkpoint
from tailormix.training.joint_step import NotStackable
from training.runs import listener, rows_of, without_times

SMALL = ("epochs=2", "data.validation=0.1", "model.dropout=0.2")


def experiments(*settings: str, name: str = "digits-mlp", seeds: tuple[int, ...] = (0, 1, 2)) -> list[Any]:
    common = ("accelerator=cpu", "checkpoint_every=3600", *(SMALL if name == "digits-mlp" else ()))
    return [read(name, [*common, *settings], seed=seed) for seed in seeds]


def folders(root: Path, count: int) -> list[Path]:
    return [root / f"seed-{k}" for k in range(count)]


def close(a: Any, b: Any) -> bool:
    """Numbers of two results agree; times and the record of execution do not count."""
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(close(a[key], b[key]) for key in a if key != "execution")
    if isinstance(a, float) and isinstance(b, float):
        return a == pytest.approx(b, rel=2e-2, abs=2e-3)
    return bool(a == b) or (isinstance(a, str) and isinstance(b, str))


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("digits-mlp", ("method=sk-mixup",)),
        ("digits-mlp", ("method=regmixup", "clip=0.5", "optimiser=sgd", "optimiser.momentum=0.9")),
        ("digits-resnet8", ("epochs=1", "batch=512", "method=sk-mixup")),
    ],
)
def test_every_run_ends_like_its_own_single_run(tmp_path, name, settings):
    wanted = experiments(*settings, name=name, seeds=(0, 1))
    results = run_together(wanted, folders(tmp_path / "together", 2))
    for k, experiment in enumerate(wanted):
        single = run_experiment(experiment, tmp_path / "single" / f"seed-{k}")
        assert close(without_times(results[k]), without_times(single))
        files = [
            {path.name for path in (tmp_path / kind / f"seed-{k}").rglob("*") if path.is_file()}
            for kind in ("together", "single")
        ]
        assert files[0] == files[1]
        mine, theirs = (
            checkpoint.read(tmp_path / kind / f"seed-{k}" / "checkpoints" / checkpoint.LAST).tensors
            for kind in ("together", "single")
        )
        assert mine.keys() == theirs.keys()
        for key, tensor in mine.items():
            torch.testing.assert_close(tensor, theirs[key], atol=2e-3, rtol=2e-2)
    assert results[0]["execution"]["together"] == 2


def test_runs_may_differ_in_numbers(tmp_path, monkeypatch):
    """And in their optimiser; the data of one split is loaded once."""
    wanted = [
        *experiments("method.tau_max=0.1", "optimiser.lr=0.001", seeds=(0,)),
        *experiments("method.tau_max=2.0", "optimiser.lr=0.003", seeds=(0,)),
        *experiments("optimiser=sgd", "optimiser.momentum=0", seeds=(0,)),
    ]
    loaded = []
    load = building.load_data
    monkeypatch.setattr(building, "load_data", lambda each: loaded.append(each) or load(each))
    results = run_together(wanted, folders(tmp_path / "together", 3))
    assert len(loaded) == 1
    for k, experiment in enumerate(wanted):
        single = run_experiment(experiment, tmp_path / "single" / f"seed-{k}")
        assert close(without_times(results[k]), without_times(single))


def test_stopped_runs_resume_bit_by_bit_even_where_one_is_behind(tmp_path):
    """A signal in epoch 1 leaves checkpoints of all; one of them then loses its last one."""
    wanted, paths = experiments("checkpoint_every=0"), folders(tmp_path / "stopped", 3)
    with pytest.raises(Interrupted):
        run_together(wanted, paths, report=listener(lambda _: os.kill(os.getpid(), signal.SIGTERM)))
    positions = [checkpoint.read(path / "checkpoints" / checkpoint.LAST).facts for path in paths]
    assert len({(each["epoch"], each["step"]) for each in positions}) == 1
    (paths[1] / "checkpoints" / checkpoint.LAST).unlink()
    resumed = run_together(wanted, paths)
    alone = run_together(wanted, folders(tmp_path / "alone", 3))
    for k, path in enumerate(folders(tmp_path / "alone", 3)):
        assert close(without_times(resumed[k]), without_times(alone[k]))
        assert len(rows_of(paths[k])) == len(rows_of(path)) == 2
    for k in (0, 2):  # these were never alone: not a bit differs
        assert resumed[k]["test"] == alone[k]["test"]


def test_finished_runs_are_not_repeated(tmp_path):
    wanted, paths = experiments(), folders(tmp_path, 3)
    first = run_experiment(wanted[1], paths[1])
    results = run_together(wanted, paths)
    assert results[1] == first
    assert run_together(wanted, paths) == results


def test_a_run_that_diverges_leaves_the_others_alone(tmp_path):
    wanted = [
        *experiments(seeds=(0,)),
        *experiments("optimiser=sgd", "optimiser.lr=1e30", seeds=(0,)),
        *experiments(seeds=(1,)),
    ]
    results = run_together(wanted, folders(tmp_path, 3))
    assert isinstance(results[1], NonFiniteLoss)
    assert "epoch 1" in str(results[1])
    assert [result["seed"] for result in (results[0], results[2])] == [0, 1]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ((("epochs=2",), ("epochs=3",)), "must have the same epochs"),
        ((("model.hidden=[8]",), ("model.hidden=[9]",)), "of one architecture"),
        ((("method=mixup",), ("method=sk-mixup",)), "of one recipe"),
        ((("method=manifold-mixup",), ("method=manifold-mixup", "seed=1")), "cannot be trained together"),
        ((("data.validation=0.1",), ("data.validation=0.2",)), "same number of training rows"),
    ],
)
def test_runs_that_cannot_be_trained_together_say_why_before_training(tmp_path, settings, message):
    wanted = [experiments(*each, seeds=(0,))[0] for each in settings]
    with pytest.raises(NotStackable, match=message):
        run_together(wanted, folders(tmp_path, 2))
    assert not list(tmp_path.rglob("*.safetensors")) or not list(tmp_path.rglob("last.safetensors"))


def test_runs_with_other_options_of_their_loss_are_not_trained_together(tmp_path: Path) -> None:
    """At the first step a smoothed loss is about log C, whatever is smoothed: comparing tells nothing."""
    settings = ["loss=ls", "epochs=1"]
    given = [read("moons", [*settings, f"loss.alpha={alpha}"]) for alpha in (0.05, 0.2)]
    with pytest.raises(NotStackable, match="must have the same loss"):
        run_together(given, [tmp_path / "a", tmp_path / "b"])
