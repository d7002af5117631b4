"""Stand-ins ask for what timm and torchvision ask for, and long commands really run on little work."""

from __future__ import annotations

import inspect
import json
import sys
from typing import TYPE_CHECKING, Any

import pytest
import torch

from docs import stand_ins
from docs.command_lines import check
from docs.stand_ins import present
from integrations.cases import real
from tailormix import SKMixup
from tailormix.models import build

if TYPE_CHECKING:
    from pathlib import Path


def test_arguments_are_those_of_the_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    """A timm model takes in_chans and nothing called in_channels; torchvision's CutMix wants names."""
    for name, made in {**stand_ins._timm(), **stand_ins._torchvision()}.items():
        monkeypatch.setitem(sys.modules, name, made)
    network = build("timm:resnet10t", num_classes=4, in_chans=1)
    assert SKMixup().loss(network, torch.rand(6, 1, 8, 8), torch.arange(6) % 4).isfinite()
    with pytest.raises(TypeError, match="in_channels"):
        build("timm:resnet10t", num_classes=4, in_channels=1)
    with pytest.raises(TypeError, match="positional"):
        stand_ins.CutMix(4)


def test_cutting_mixes_labels_by_area() -> None:
    """A quarter of each image is that of the one before: labels become 0.75 and 0.25."""
    images, labels = torch.arange(3.0).reshape(3, 1, 1, 1).expand(3, 1, 4, 4), torch.arange(3)
    mixed, soft = stand_ins.CutMix(num_classes=3)(images, labels)
    assert mixed[1].sum() == 12 * 1 + 4 * 0
    assert soft[1].tolist() == [0.25, 0.75, 0.0]
    with pytest.raises(ValueError, match="labels should be of shape"):
        stand_ins.CutMix(num_classes=3)(images, soft)


@pytest.mark.parametrize(
    ("module", "name", "made"),
    [
        ("timm", "create_model", stand_ins.create_model),
        ("timm.models.resnet", "ResNet", stand_ins.ResNet),
        ("torchvision.transforms.v2", "CutMix", stand_ins.CutMix),
        ("torchvision.transforms.v2", "RandomChoice", stand_ins.RandomChoice),
    ],
)
def test_the_packages_themselves_take_these_arguments(module: str, name: str, made: Any) -> None:
    theirs = inspect.signature(getattr(real(module), name)).parameters
    assert set(inspect.signature(made).parameters) <= set(theirs)


def test_what_is_here_needs_no_stand_in() -> None:
    with present("json"):
        assert sys.modules["json"] is json


def test_stand_ins_go_when_the_block_ends() -> None:
    before = sys.modules.get("timm")
    with present("timm"):
        assert sys.modules["timm"].is_model("resnet10t")
    assert sys.modules.get("timm") is before


def test_a_package_without_a_stand_in_is_missed() -> None:
    with pytest.raises(ModuleNotFoundError, match="nowhere"), present("nowhere.at.all"):
        pass


def test_commands_train_for_an_epoch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two of ten seeds, one of all epochs, and a result of each in its folder."""
    monkeypatch.chdir(tmp_path)
    check(["tailormix", "train", "moons", "--seeds", "3-12", "--jobs", "2", "--out", "runs"])
    results = [json.loads(path.read_text()) for path in sorted(tmp_path.glob("runs/moons/*/result.json"))]
    assert [(result["seed"], result["epochs"]) for result in results] == [(3, 1), (4, 1)]


def test_a_command_that_fails_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AssertionError, match="absent"):
        check(["tailormix", "evaluate", "absent.npz"])
    with pytest.raises(AssertionError, match="no row of regression matches"):
        check(["tailormix", "reproduce", "regression", "--rows", "airfol"])
