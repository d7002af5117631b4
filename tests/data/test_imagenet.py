"""ImageNet as class folders, and its three archives, small ones, unpacked into them."""

import io
import tarfile
from pathlib import Path

import numpy as np
import PIL.Image
import pytest
import torch
from scipy.io import savemat

from tailormix.data import DataError, load
from tailormix.data.files.archives import DEVKIT, TRAIN, VAL, prepare_imagenet
from tailormix.data.files.download import get


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


def kit(path: Path, truth: bytes) -> None:
    """The development kit: its synsets, and the class numbers of the validation images."""
    folder = "ILSVRC2012_devkit_t12/data"
    meta, labels = f"{folder}/meta.mat", f"{folder}/ILSVRC2012_validation_ground_truth.txt"
    packed(path / DEVKIT, {meta: synsets(path.parent / "meta.mat"), labels: truth}, "w:gz")


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
    kit(target, b"2\n1\n1\n")
    return target


def test_archives_become_class_folders(folder: Path) -> None:
    """Validation images in the order of their names are of classes 2, 1, 1: wnids n01, n02, n02."""
    prepare_imagenet(folder)
    files = {str(path.relative_to(folder)) for path in folder.rglob("*.JPEG")}
    assert files == {
        *(f"train/{wnid}/{wnid}_{k}.JPEG" for wnid in ("n01", "n02") for k in range(3)),
        "val/n01/ILSVRC2012_val_00000001.JPEG",
        "val/n02/ILSVRC2012_val_00000002.JPEG",
        "val/n02/ILSVRC2012_val_00000003.JPEG",
    }
    assert (folder / "train" / "n02" / "n02_1.JPEG").read_bytes() == b"n02"
    assert not list(folder.glob(".unpacking-*"))


def test_missing_and_wrong_archives_are_named(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"img_train\.tar: expected 147897477120 bytes and md5:.*, got \d+ bytes;"
    ):
        get("imagenet", tmp_path)
    assert not (folder / "train").exists()
    (folder / TRAIN).unlink()
    with pytest.raises(
        DataError, match=r"missing file .*_img_train\.tar; to fix it: register at image-net\.org"
    ):
        get("imagenet", tmp_path)


def test_what_is_there_stays(folder: Path) -> None:
    (folder / "train").mkdir()
    (folder / TRAIN).unlink()
    prepare_imagenet(folder)
    assert list((folder / "train").iterdir()) == []
    assert (folder / "val" / "n01").is_dir()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (
            lambda f: packed(f / DEVKIT, {"x": b""}, "w:gz"),
            r"devkit_t12\.tar\.gz: expected the 2012 development kit",
        ),
        (
            lambda f: packed(f / VAL, {"ILSVRC2012_val_1.JPEG": b""}),
            r"img_val\.tar: expected 3 images, got 1",
        ),
        (lambda f: kit(f, b"1\n3\n1\n"), r"expected class numbers of meta\.mat, got \[3\]"),
    ],
)
def test_wrong_contents_leave_no_validation_folder(folder: Path, damage, message: str) -> None:
    damage(folder)
    with pytest.raises(DataError, match=message):
        prepare_imagenet(folder)
    assert not (folder / "val").exists()


def test_class_folders_become_splits(tmp_path: Path) -> None:
    for part, count in (("train", 25), ("val", 2)):
        for wnid in ("n02", "n01"):
            for k in range(count):
                path = tmp_path / "mini" / part / wnid / f"{wnid}_{k}.JPEG"
                path.parent.mkdir(parents=True, exist_ok=True)
                PIL.Image.new("RGB", (20, 20)).save(path)
    splits = load("imagenet", root=tmp_path, slice="mini", image_size=16)
    assert (splits.class_names, splits.name) == (("n01", "n02"), "imagenet (mini)")
    assert [len(part) for part in (splits.train, splits.validation, splits.test)] == [48, 2, 4]
    assert splits.test.targets.tolist() == [0, 0, 1, 1]
    assert splits.train.batch(torch.tensor([0, 1]))[0].shape == (2, 3, 16, 16)
    (tmp_path / "imagenet").symlink_to(tmp_path / "mini")
    with pytest.raises(DataError, match=r"expected 1000 class folders, got 2; .*data get imagenet"):
        load("imagenet", root=tmp_path)
