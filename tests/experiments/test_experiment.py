"""Experiments as data: defaults, files and options, checks, what ships, and writing."""

import json
from pathlib import Path

import pytest

from tailormix.experiments import experiment as experiments
from tailormix.experiments.experiment import EXPERIMENTS, Experiment, fingerprint, read, write_toml
from tailormix.training import Choice

FILE = """
epochs = 7
batch = 9
[data]
name = "digits"
[model]
name = "mlp"
[method]
name = "sk-mixup"
tau_std = 0.5
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "my.toml").write_text(FILE)
    return tmp_path / "my.toml"


def test_defaults_below_the_file_below_the_command_line(file: Path) -> None:
    plain, changed = read(file), read(file, ["epochs=8", "method.tau_max=2.0", "optimiser.lr=0.5"])
    assert (plain.training.epochs, plain.training.batch, plain.training.clip) == (7, 9, 0.0)
    assert changed.training.epochs == 8
    assert changed.method == Choice("sk-mixup", {"tau_std": 0.5, "tau_max": 2.0})
    assert changed.training.optimiser == Choice("sgd", {"lr": 0.5})
    assert read(file, ["epochs=8", "epochs=9"], seed=4).training.epochs == 9
    assert read(file, seed=4).training.seed == 4


def test_another_name_starts_its_section_afresh(file: Path) -> None:
    assert read(file, ["method=mixup"]).method == Choice("mixup", {})
    assert read(file, ["method.alpha=0.2", "method=mixup"]).method == Choice("mixup", {"alpha": 0.2})


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("epoch=3", "unknown key of the experiment 'epoch'; did you mean 'epochs'"),
        ("method.tau_sdt=1", "unknown option of method sk-mixup 'tau_sdt'; did you mean 'tau_std'"),
        ("method=sk-mxup", "unknown method 'sk-mxup'; did you mean 'sk-mixup'"),
        ("loss=focl", "unknown loss 'focl'; did you mean 'focal'"),
        ("loss.gama=1", "unknown option of loss default 'gama'"),
        ("model=resnet9", "unknown model 'resnet9'; did you mean 'resnet8'"),
        ("data=digit", "unknown data 'digit'; did you mean 'digits'"),
        ("optimiser.lrr=1", "unknown option of optimiser sgd 'lrr'; did you mean 'lr'"),
        ("schedule=cosin", "unknown schedule 'cosin'; did you mean 'cosine'"),
        ("precision=16", "unknown precision 16"),
        ("epochs=0", "epochs must be >= 1, got 0"),
        ("epochs=2.5", "epochs must be a whole number, got float: 2.5"),
        ("drop_last=1", "drop_last must be true or false, got 1"),
        ("epochs", "--set takes key=value, got 'epochs'"),
        ("epochs.x=1", "epochs is not a section"),
        ("method=3", "method must be a name or a section, got int"),
    ],
)
def test_what_is_wrong_is_named_with_the_closest_match(setting: str, said: str, file: Path) -> None:
    with pytest.raises((ValueError, TypeError)) as raised:
        read(file, [setting])
    assert said in str(raised.value)


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text("epochs = ")
    with pytest.raises(ValueError, match=r"cannot read the experiment file .*bad\.toml"):
        read(tmp_path / "bad.toml")
    with pytest.raises(ValueError, match=r"there is no experiment file .*none\.toml"):
        read(tmp_path / "none.toml")
    with pytest.raises(ValueError, match="an experiment needs model"):
        Experiment.from_dict({"data": {"name": "moons"}})


def test_records_survive_json(file: Path) -> None:
    record = read(file)
    assert Experiment.from_dict(json.loads(json.dumps(record.to_dict()))) == record


def test_every_file_of_the_folder_ships() -> None:
    assert {f"{name}.toml" for name in EXPERIMENTS} == {path.name for path in experiments.SHIPPED.iterdir()}


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_shipped_experiment_is_valid_and_is_read_as_it_was_written(name: str, tmp_path: Path) -> None:
    assert read(name).summary == EXPERIMENTS[name]["summary"] != ""
    experiment = read(name, ["method=regmixup", "schedule=steps", "schedule.milestones=[3, 5]", "seed=7"])
    again = read(write_toml(experiment, tmp_path / "again.toml"))
    assert again == experiment
    assert fingerprint(again) == fingerprint(experiment)


def test_defaults_are_left_out_of_files() -> None:
    text = experiments.to_toml(read("moons", ["precision=32-true"]))
    assert "precision" not in text
    assert "epochs" in text


def test_fingerprints_ignore_the_seed_and_what_is_left_at_its_default() -> None:
    base = read("moons")
    assert fingerprint(read("moons", ["seed=5", "clip=0.0", "workers=3"])) == fingerprint(base)
    for change in ("clip=1.0", "method.tau_std=0.6"):
        assert fingerprint(read("moons", [change])) != fingerprint(base)


def test_a_run_is_named_by_data_model_and_method() -> None:
    assert experiments.run_name(read("digits-mlp", ["method=mixup"])).startswith("digits-mlp-mixup-")
