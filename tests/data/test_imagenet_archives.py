"""ImageNet's three archives, made small, laid out as class folders."""

import io
import tarfile
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from tailormix.data import DataError
from tailormix.data.files.download import get
from tailormix.data.imagenet import DEVKIT, TRAIN, VAL, prepare


def packed(path: Path, members: dict[str, bytes], mode: str = "w") -> bytes:
    with tarfile.open(path, mode) as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return path.read_bytes()


def synsets(path: Path) -> bytes:
    """Two classes and one parent that is no class; the kit's numbers are not in the order of the wnids."""
    rows = [(1, "n02", 0), (2, "n01", 0), (3, "n09", 2)]
    kinds = [("ILSVRC2012_ID", object), ("WNID", object), ("num_children", object)]
    savemat(path, {"synsets": np.array(rows, dtype=kinds)})
    return path.read_bytes()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    target = tmp_path / "imagenet"
    target.mkdir()
    inner = {
        f"{wnid}.tar": packed(tmp_path / "inner.tar", {f"{wnid}_{k}.JPEG": wnid.encode() for k in range(3)})
        for wnid in ("n01", "n02")
    }
    packed(target / TRAIN, inner)
    packed(target / VAL, {f"ILSVRC2012_val_{k:08}.JPEG": bytes([k]) for k in (3, 1, 2)})
    kit = "ILSVRC2012_devkit_t12/data"
    truth = b"2\n1\n1\n"
    meta = synsets(tmp_path / "meta.mat")
    packed(
        target / DEVKIT,
        {f"{kit}/meta.mat": meta, f"{kit}/ILSVRC2012_validation_ground_truth.txt": truth},
        "w:gz",
    )
    return target


def test_layout(folder: Path) -> None:
    """Validation images in the order of their names are of classes 2, 1, 1: wnids n01, n02, n02."""
    prepare(folder)
    files = {str(path.relative_to(folder)) for path in folder.rglob("*.JPEG")}
    assert files == {
        *(f"train/{wnid}/{wnid}_{k}.JPEG" for wnid in ("n01", "n02") for k in range(3)),
        "val/n01/ILSVRC2012_val_00000001.JPEG",
        "val/n02/ILSVRC2012_val_00000002.JPEG",
        "val/n02/ILSVRC2012_val_00000003.JPEG",
    }
    assert (folder / "train" / "n02" / "n02_1.JPEG").read_bytes() == b"n02"
    assert not list(folder.glob(".unpacking-*"))


def test_missing_archive_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"missing file .*ILSVRC2012_img_train\.tar; to mend it: register at image-net\.org"
    ):
        get("imagenet", tmp_path)


def test_what_is_there_stays(folder: Path) -> None:
    (folder / "train").mkdir()
    (folder / TRAIN).unlink()
    prepare(folder)
    assert list((folder / "train").iterdir()) == []
    assert (folder / "val" / "n01").is_dir()


def test_wrong_archive_is_not_unpacked(folder: Path) -> None:
    with pytest.raises(
        DataError, match=r"img_train\.tar: expected 147897477120 bytes and md5:.*, got \d+ bytes;"
    ):
        get("imagenet", folder.parent)
    assert not (folder / "train").exists()


def test_wrong_kit_leaves_no_validation_folder(folder: Path) -> None:
    packed(folder / DEVKIT, {"something": b""}, "w:gz")
    with pytest.raises(DataError, match=r"devkit_t12\.tar\.gz: expected the 2012 development kit"):
        prepare(folder)
    assert not (folder / "val").exists()


def test_lost_images_are_noticed(folder: Path) -> None:
    packed(folder / VAL, {"ILSVRC2012_val_00000001.JPEG": b""})
    with pytest.raises(DataError, match=r"ILSVRC2012_img_val\.tar: expected 3 images, got 1"):
        prepare(folder)
    assert not (folder / "val").exists()
