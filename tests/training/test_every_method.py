"""Every method and every loss trains two steps on every kind of model that fits."""

from pathlib import Path
from typing import Any

import pytest
import torch

from tailormix.data import DataSplits
from tailormix.data.series import series_splits
from tailormix.data.splits import MemorySplit
from tailormix.experiments import building
from tailormix.experiments.experiment import Experiment
from tailormix.losses.registry import LOSSES
from tailormix.methods import METHODS
from tailormix.training import make_fabric
from tailormix.training.optimisation import TrainingBatch, train_epoch
from tailormix.training.progress import silent
from tailormix.training.trainer import Trainer

ONLY_CLASSES = {"rankmixup", "rankmixup-mrl", "mit-l", "mit-a", "remix"}
ONLY_NUMBERS = {"c-mixup"}
ONLY_IMAGES = {"cutmix", "sk-cutmix"}
MODELS = {
    "mlp": ("mlp", {}, "vector"),
    "resnet": ("resnet8", {}, "image"),
    "vit": ("vit-tiny", {"patch_size": 4}, "image"),
    "fcn": ("fcn3", {}, "numbers"),
    "lstnet": ("lstnet-skip", {}, "series"),
}


def made(kind: str) -> DataSplits:
    """Eight rows of the kind."""
    draw = torch.Generator().manual_seed(0)
    if kind == "series":
        return series_splits(
            "made", torch.rand(400, 4, generator=draw, dtype=torch.float64), 168, 12, "clean"
        )
    shape = (3, 8, 8) if kind == "image" else (5,)
    x = torch.rand(8, *shape, generator=draw)
    task, y = ("regression", x[:, :1]) if kind == "numbers" else ("classification", torch.arange(8) % 3)
    part = MemorySplit(x, y, torch.arange(8))
    return DataSplits("made", task, part, part, part, 1 if kind == "numbers" else 3)  # type: ignore[arg-type]


def two_steps(kind: str, monkeypatch: pytest.MonkeyPatch, **sections: Any) -> tuple[list[float], float]:
    """Losses of two steps on one batch, and how far the weights moved."""
    name, options, shape = MODELS[kind]
    monkeypatch.setattr(building.data, "load", lambda *_, **__: made(shape))
    flat = {"data": {"name": "moons"}, "model": {"name": name, **options}, **sections}
    experiment = Experiment.from_dict({**flat, "batch": 8, "accelerator": "cpu"})
    torch.manual_seed(0)
    setup = building.build(experiment)
    run = Trainer(make_fabric(experiment.training), setup, experiment.training, Path(), silent)
    before = torch.nn.utils.parameters_to_vector(setup.model.parameters()).detach().clone()
    rows = torch.arange(8)
    batch = TrainingBatch(*setup.data.train.batch(rows), seed=0, options={"ids": rows})
    losses = [float(loss) for loss in train_epoch(run.step, run.optimiser, run.schedule, [batch] * 2)]
    after = torch.nn.utils.parameters_to_vector(setup.model.parameters()).detach()
    return losses, float((after - before).abs().max())


def fits(method: str, kind: str) -> bool:
    rows = MODELS[kind][2]
    classes = rows in ("vector", "image")
    if method in ONLY_IMAGES:
        return rows == "image"
    return not (method in ONLY_CLASSES and not classes) and not (method in ONLY_NUMBERS and classes)


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("method", METHODS)
def test_every_method_on_every_kind_of_model(method: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if not fits(method, kind):
        with pytest.raises(ValueError, match=r"classification|images|classes|shape|real targets"):
            two_steps(kind, monkeypatch, method={"name": method})
        return
    losses, moved = two_steps(kind, monkeypatch, method={"name": method})
    assert all(0 <= loss < 1e4 for loss in losses)
    assert moved > 0


@pytest.mark.parametrize("loss", LOSSES)
def test_every_loss(loss: str, monkeypatch: pytest.MonkeyPatch) -> None:
    losses, moved = two_steps("mlp", monkeypatch, loss={"name": loss})
    assert all(abs(value) < 1e4 for value in losses)
    assert moved > 0


def test_squared_error_in_published_units_is_larger_by_the_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    plain, _ = two_steps("lstnet", monkeypatch, loss={"name": "mse"})
    published, _ = two_steps("lstnet", monkeypatch, loss={"name": "mse-denormalised"})
    scale = made("series").target_scale
    assert scale is not None
    assert published[0] / plain[0] == pytest.approx(float(scale.square().mean()), rel=0.1)
    with pytest.raises(ValueError, match="needs scaled targets"):
        two_steps("fcn", monkeypatch, loss={"name": "mse-denormalised"})
    with pytest.raises(ValueError, match="unknown loss for real targets 'focal'"):
        two_steps("fcn", monkeypatch, loss={"name": "focal"})
