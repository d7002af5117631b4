"""Experiments as data: layers, checks and what ships."""

import dataclasses
import json
from pathlib import Path

import pytest

import tailormix.experiments.registry as catalogue_module
from tailormix.experiments import EXPERIMENTS, Experiment, read
from tailormix.experiments.experiment import from_flat
from tailormix.experiments.parallel import seeds_of
from tailormix.experiments.running import batches_in_memory, fingerprint
from tailormix.methods import METHODS
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
def own(tmp_path: Path) -> Path:
    (tmp_path / "own.toml").write_text(FILE)
    return tmp_path / "own.toml"


def test_defaults_below_the_file_below_the_command_line(own: Path) -> None:
    plain, changed = read(own), read(own, ["epochs=8", "method.tau_max=2.0", "optimiser.lr=0.5"])
    assert (plain.training.epochs, plain.training.batch, plain.training.clip) == (7, 9, 0.0)
    assert changed.training.epochs == 8
    assert changed.method == Choice("sk-mixup", {"tau_std": 0.5, "tau_max": 2.0})
    assert changed.training.optimiser == Choice("sgd", {"lr": 0.5})
    assert read(own, ["epochs=8", "epochs=9"], seed=4).training.epochs == 9
    assert read(own, seed=4).training.seed == 4


def test_another_name_starts_its_section_afresh(own: Path) -> None:
    assert read(own, ["method=mixup"]).method == Choice("mixup", {})
    assert read(own, ["method.alpha=0.2", "method=mixup"]).method == Choice("mixup", {"alpha": 0.2})


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
        ("epochs.x=1", "epochs has no parts"),
        ("method=3", "method must be a name or a section, got int"),
    ],
)
def test_what_is_wrong_is_named_with_the_closest_match(setting: str, said: str, own: Path) -> None:
    with pytest.raises((ValueError, TypeError)) as raised:
        read(own, [setting])
    assert said in str(raised.value)


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text("epochs = ")
    with pytest.raises(ValueError, match=r"cannot read the experiment file .*bad\.toml"):
        read(tmp_path / "bad.toml")
    with pytest.raises(ValueError, match=r"there is no experiment file .*none\.toml"):
        read(tmp_path / "none.toml")
    with pytest.raises(ValueError, match="an experiment needs model"):
        from_flat({"data": {"name": "moons"}})


def test_records_are_frozen_and_survive_json(own: Path) -> None:
    record = read(own)
    with pytest.raises(dataclasses.FrozenInstanceError):
        record.summary = "other"  # type: ignore[misc]
    again = from_flat(json.loads(json.dumps(record.flat())))
    assert isinstance(again, Experiment)
    assert again.flat() == record.flat()


def test_fingerprints_tell_experiments_apart_but_not_seeds(own: Path) -> None:
    assert fingerprint(read(own)) == fingerprint(read(own, ["workers=3"], seed=5))
    assert fingerprint(read(own)) != fingerprint(read(own, ["method.tau_std=0.6"]))


def test_the_dictionary_and_the_folder_are_equal() -> None:
    folder = Path(catalogue_module.__file__).with_name("files")
    assert {shipped.file for shipped in EXPERIMENTS.values()} == {path.name for path in folder.iterdir()}
    assert all(shipped.file == f"{name}.toml" for name, shipped in EXPERIMENTS.items())


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_shipped_experiment_is_valid_and_says_what_it_is(name: str) -> None:
    assert read(name).summary == EXPERIMENTS[name].summary != ""


def test_batches_in_memory_are_known_for_every_method() -> None:
    found = {name: batches_in_memory(entry.passes) for name, entry in METHODS.items()}
    assert found["erm"] == found["sk-mixup"] == 1
    assert found["regmixup"] == found["mit-l"] == 2
    assert found["rankmixup"] == 4


def test_seeds() -> None:
    assert seeds_of("3") == [3]
    assert seeds_of("0-3, 2,9") == [0, 1, 2, 3, 9]
    for wrong in ("", "a", "-1", "1-", "3-1", "1;2"):
        with pytest.raises(ValueError, match="seeds must be numbers and ranges"):
            seeds_of(wrong)
