"""Code of the user in the place of a name: data, model, method, loss and criterion; what is wrong with it."""

import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import tailormix
from tailormix import METHODS, Method
from tailormix.calibration.predictions import load_predictions
from tailormix.experiments import Experiment, build, plugins, read, run_experiment
from tailormix.experiments.experiment import run_name
from tailormix.experiments.plugins import PluginError
from tailormix.training.run_folder import RunError

CODE = '''
import dataclasses
import torch
import nearby
from torch import nn
from tailormix import Mixup
from tailormix.data.splits import DataSplits, MemorySplit

@dataclasses.dataclass
class Shift:
    by: float = 0.0

def rings(seed, n=40):
    """Two rings."""
    draw = torch.Generator().manual_seed(seed)
    y = torch.arange(n) % 2
    x = nn.functional.normalize(torch.randn(n, 2, generator=draw)) * (1 + y[:, None])
    parts = [MemorySplit(x[rows], y[rows], rows) for rows in torch.arange(n).tensor_split(3)]
    return DataSplits("rings", "classification", *parts, 2, ("inner", "outer"))

class Net(nn.Sequential):
    def __init__(self, in_features, num_classes, width=8):
        super().__init__(nn.Linear(in_features, width), nn.Tanh(), nn.Linear(width, num_classes))

ready = nn.Linear(2, 2)

def gentle(alpha=0.1, num_classes=None):
    return Mixup(alpha, num_classes=num_classes)

mild = Mixup(0.2, num_classes=2)

def squared(logits, targets, weight=1.0):
    """A criterion itself."""
    return weight * (logits.softmax(1) - targets).square().sum(1)

class Squared(nn.Module):
    """A class that makes one."""
    def __init__(self, num_classes, power=2):
        super().__init__()
        self.power = power
    def forward(self, logits, targets):
        return (logits.softmax(1) - targets).abs().pow(self.power).sum(1)

made = Squared(2)
number = 3

def broken(**options):
    raise KeyError("no such thing")
'''
QUICK = ["epochs=1", "batch=20", "accelerator=cpu"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with the user's file and a module that it imports."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my.py").write_text(CODE)
    (tmp_path / "nearby.py").write_text("")
    return tmp_path


def mine(*settings: str) -> Experiment:
    """Moons, with these settings on top."""
    return read("moons", [*QUICK, *settings])


def test_data_model_method_and_loss_of_the_user_make_a_run_that_can_be_used(tmp_path: Path) -> None:
    experiment = mine("data=my.py:rings", "data.n=60", "model=my.py:Net", "method=my.py:gentle")
    result = run_experiment(experiment, tmp_path / "run")
    assert (result["method"], result["batches_in_memory"]) == ("my.py:gentle", None)
    setup = build(experiment)
    assert len(setup.data.train) == 20
    assert [layer.out_features for layer in setup.model if isinstance(layer, nn.Linear)] == [8, 2]
    assert (setup.method.coefficients.alpha, setup.method.num_classes) == (0.1, 2)
    with pytest.raises(
        RunError, match=r"its model is code of yours, my\.py:Net: name it again .*/my\.py:Net'"
    ):
        tailormix.load_run(tmp_path / "run")
    run = tailormix.load_run(tmp_path / "run", model="my.py:Net")
    stored = load_predictions(tmp_path / "run" / "predictions.npz")
    found = run.predict_proba(setup.data.test.inputs, calibrated=False)
    torch.testing.assert_close(
        torch.from_numpy(found).log(), torch.tensor(stored.logits).log_softmax(1).double()
    )
    assert set(run.predict([[0.9, 0.0], [2.0, 0.1]])) <= {"inner", "outer"}


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        ("my.py:squared", 0.5),
        ("my.py:squared weight=3.0", 1.5),
        ("my.py:Squared", 0.5),
        ("my.py:Squared power=1", 1.0),
        ("my.py:made", 0.5),
    ],
)
def test_a_criterion_is_a_function_a_class_or_an_instance(loss: str, expected: float) -> None:
    """At equal logits of two classes, |p - y| is 1/2 twice: squared 1/2, plain 1."""
    name, *option = loss.split()
    criterion = build(mine(f"loss={name}", *(f"loss.{each}" for each in option))).criterion
    assert float(criterion(torch.zeros(1, 2), torch.tensor([[1.0, 0.0]]))) == pytest.approx(expected)


def test_data_may_be_two_arrays_that_are_split_and_scaled_like_an_npz_file(folder: Path) -> None:
    np.savez("same.npz", x=np.arange(60.0).reshape(30, 2), y=np.arange(30) % 3)
    (folder / "read.py").write_text(
        "import numpy as np\ndef rows(path):\n    found = np.load(path)\n    return found['x'], found['y']\n"
    )
    read_by_us = build(mine("data=npz", "data.path=same.npz")).data
    read_by_user = build(mine("data=read.py:rows", "data.path=same.npz")).data
    assert read_by_user.name == "read.rows"
    assert read_by_user.fingerprints == read_by_us.fingerprints
    assert torch.equal(read_by_user.test.inputs, read_by_us.test.inputs)


def test_instances_are_used_as_they_are_and_never_shared_by_runs() -> None:
    first, second = build(mine("model=my.py:ready")), build(mine("model=my.py:ready"))
    assert torch.equal(first.model.weight, second.model.weight)
    assert first.model is not second.model
    assert build(mine("method=my.py:mild")).method.coefficients.alpha == 0.2


def test_modules_are_found_from_the_current_folder(folder: Path) -> None:
    (folder / "kept").mkdir()
    (folder / "kept" / "inner.py").write_text(CODE)
    try:
        assert isinstance(build(mine("method=kept.inner:gentle")).method, Method)
        assert plugins.record("kept.inner:gentle")["file"] == str(folder / "kept" / "inner.py")
    finally:
        for name in ("kept", "kept.inner", "nearby"):
            sys.modules.pop(name, None)
    assert str(folder) not in sys.path


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("method=none.py:gentle", "there is no file none.py"),
        ("method=none.inner:gentle", "there is no module none"),
        ("method=my.py:gentel", "unknown name 'gentel'; did you mean 'gentle'?"),
        ("method=my.py:number", "must be callable, got int"),
        ("method=my.py:Shift", "must return a tailormix.Method, got Shift"),
        ("method=my.py:broken", "it raised KeyError: 'no such thing' (my.py, line "),
        ("model=my.py:squared", "it raised TypeError: squared() missing 2 required positional arguments"),
        ("data=my.py:gentle", "must return DataSplits or arrays (x, y), got Method"),
        ("loss=my.py:number", "must be callable, got int"),
        ("loss=my.py:Shift", "must return a criterion, got Shift"),
        (
            "method=wrong.py:gentle",
            "importing wrong.py raised ZeroDivisionError: division by zero (wrong.py, line 2)",
        ),
        ("method=typo.py:gentle", "importing typo.py raised SyntaxError: "),
        ("method=leaves.py:gentle", "importing leaves.py raised SystemExit: 3"),
        ("method=needs.py:gentle", "importing needs.py raised ModuleNotFoundError: No module named 'absent'"),
    ],
)
def test_what_is_wrong_is_one_line(setting: str, said: str, folder: Path) -> None:
    files = {"wrong": "\n1 / 0", "typo": "def", "leaves": "raise SystemExit(3)", "needs": "import absent"}
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    with pytest.raises(PluginError) as raised:
        build(mine(setting))
    assert said in str(raised.value)
    assert str(raised.value).startswith("plug-in ")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            ("method=my.py:gentle", "method.alpa=1"),
            "unknown option of my.py:gentle 'alpa'; did you mean 'alpha'?",
        ),
        (("method=my.py:mild", "method.alpha=1"), "is an instance already: it takes no option, got 'alpha'"),
        (("loss=my.py:squared", "loss.wait=1"), "unknown option of my.py:squared 'wait'"),
    ],
)
def test_options_that_the_code_does_not_take_are_named(settings: tuple[str, ...], said: str) -> None:
    with pytest.raises(ValueError) as raised:  # noqa: PT011 - the message is compared below
        build(mine(*settings))
    assert said in str(raised.value)


def test_changed_code_is_not_resumed_and_loading_it_warns(folder: Path) -> None:
    experiment = mine("data=my.py:rings", "model=my.py:Net", "method=my.py:gentle")
    run_experiment(experiment, folder / "run")
    assert run_experiment(experiment, folder / "run")["epochs"] == 1
    (folder / "my.py").write_text(CODE + "\n# changed\n")
    with pytest.raises(RunError, match=r"the code of the data, .*my\.py, is not what .*run was started with"):
        run_experiment(experiment, folder / "run")
    with pytest.warns(UserWarning, match="answers may differ"):
        tailormix.load_run(folder / "run", model="my.py:Net")


def test_runs_are_named_by_the_code_without_its_folder(folder: Path) -> None:
    named = run_name(mine(f"method={folder}/my.py:gentle", "model=my.py:Net"))
    assert named.startswith("moons-my.Net-my.gentle-")
    assert not any(plugins.is_plugin(name) for name in METHODS)
