"""Names, options and the messages about them; where data are stored."""

import inspect
from pathlib import Path

import pytest

from tailormix.data import CORRUPTIONS, DATASETS, data_root, load


def test_sources() -> None:
    sources = {
        source: [n for n, d in DATASETS.items() if d.source == source] for source in ("built in", "custom")
    }
    assert sources == {
        "built in": ["moons", "circles", "digits"],
        "custom": ["features", "npz", "table", "folder"],
    }
    assert all(d.files is not None for d in DATASETS.values() if d.source == "published")
    assert len(CORRUPTIONS) == 19


def test_every_loader_takes_options_by_name() -> None:
    for name, entry in DATASETS.items():
        for key, parameter in inspect.signature(entry.loader).parameters.items():
            assert (key in ("root", "seed")) == (parameter.kind is not parameter.KEYWORD_ONLY), name


def test_addresses_and_checksums_are_whole() -> None:
    sizes = {"sha256": 32, "md5": 16}
    for files in (entry.files for entry in DATASETS.values() if entry.files):
        sums = [download.checksum for download in files.downloads]
        sums += [digest for stored in files.files for _, digest in stored.versions if digest]
        for digest in sums:
            algorithm, value = digest.split(":")
            assert len(bytes.fromhex(value)) == sizes[algorithm]
        assert files.downloads or files.by_hand


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("cifar-10", {}, "unknown data set 'cifar-10'; did you mean 'cifar10'"),
        ("digits", {"validaton": 0.1}, "unknown option of digits 'validaton'; did you mean 'validation'"),
        ("digits", {"validation": 1.5}, r"validation must lie in \[0, 1\], got 1.5"),
        ("table", {}, "data set table needs the option path"),
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
