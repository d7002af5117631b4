"""Names and options; toy data against scikit-learn."""

import inspect
import pkgutil
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits, make_circles, make_moons
from sklearn.model_selection import train_test_split

import tailormix.data
from tailormix.data import CORRUPTIONS, DATASETS, data_root, load
from tailormix.data.files.published import PUBLISHED

MACHINERY = {"augment", "files", "folds", "registry", "splits", "streaming"}


def test_dictionary_and_folder_agree() -> None:
    files = {module.name for module in pkgutil.iter_modules(tailormix.data.__path__)} - MACHINERY
    assert {entry.target.split(":")[0] for entry in DATASETS.values()} == files
    assert PUBLISHED.keys() == {name for name, entry in DATASETS.items() if entry.source == "published"}
    assert len(CORRUPTIONS) == 19


def test_every_loader_asks_for_options_by_name() -> None:
    for entry in DATASETS.values():
        module, function = entry.target.split(":")
        parameters = inspect.signature(
            getattr(import_module(f"tailormix.data.{module}"), function)
        ).parameters
        for name, parameter in parameters.items():
            assert (name in ("root", "seed")) == (parameter.kind is not parameter.KEYWORD_ONLY), entry.target


def test_addresses_and_checksums_are_whole() -> None:
    sizes = {"sha256": 64, "md5": 32}
    for published in PUBLISHED.values():
        sums = [download.checksum for download in published.downloads]
        sums += [digest for stored in published.files for _, digest in stored.versions if digest]
        for digest in sums:
            algorithm, value = digest.split(":")
            assert len(value) == sizes[algorithm]
            assert set(value) <= set("0123456789abcdef")
        assert published.downloads or published.by_hand


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("cifar-10", {}, "unknown data set 'cifar-10'; did you mean 'cifar10'"),
        ("digits", {"validaton": 0.1}, "unknown option of digits 'validaton'; did you mean 'validation'"),
        ("digits", {"validation": 1.5}, r"validation must lie in \[0, 1\], got 1.5"),
        ("csv", {}, "data set csv needs the option path"),
        ("digits", {"seed": -1}, "seed must be >= 0, got -1"),
        ("moons", {"protocol": "as-publisht"}, "unknown protocol 'as-publisht'; did you mean 'as-published'"),
    ],
)
def test_messages(name: str, options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        load(name, **options)


def test_root_is_named_by_the_variable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TAILORMIX_DATA", str(tmp_path))
    assert data_root() == tmp_path
    assert data_root("elsewhere") == Path("elsewhere")
    monkeypatch.delenv("TAILORMIX_DATA")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert data_root() == tmp_path / "cache" / "tailormix"


@pytest.mark.parametrize(
    ("name", "drawn"),
    [
        ("moons", make_moons(100, noise=0.15, random_state=0)),
        ("circles", make_circles(100, factor=0.5, noise=0.1, random_state=0)),
    ],
)
def test_toys_as_published(name: str, drawn: tuple[np.ndarray, np.ndarray]) -> None:
    x_train, x_test, y_train, y_test = train_test_split(*drawn, test_size=0.3, random_state=42)
    splits = load(name, protocol="as-published", seed=9)
    for part, x, y in ((splits.train, x_train, y_train), (splits.test, x_test, y_test)):
        got = part.batch(torch.arange(len(part)))
        np.testing.assert_allclose(got[0].numpy(), x, rtol=1e-6)
        assert got[1].tolist() == y.tolist()


def test_digits_are_scikit_learns() -> None:
    splits = load("digits", augment=False)
    images = load_digits().images
    np.testing.assert_array_equal(splits.test.inputs[:, 0].numpy(), images[splits.test.ids])
    x, _ = splits.train.batch(torch.arange(len(splits.train)))
    assert (x.mean().item(), x.std().item()) == pytest.approx((0.0, 1.0), abs=1e-5)


def test_seeds_decide_and_are_recorded() -> None:
    first, again, other = (load("digits", seed=seed).fingerprints for seed in (1, 1, 2))
    assert first == again
    assert all(first[part] != other[part] for part in ("train", "validation", "test"))


def test_moving_moves_everything() -> None:
    splits = load("digits").to("meta")
    assert {part.targets.device.type for part in (splits.train, splits.validation, splits.test)} == {"meta"}
    assert splits.train.batch(torch.tensor([1]))[0].device.type == "meta"
