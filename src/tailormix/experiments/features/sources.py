"""What features are made of: the texts or images of a data set or of the user, part by part."""

from __future__ import annotations

import hashlib
import inspect
import json
import re
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from tailormix import checks, data
from tailormix.data.corrupt import chunk_seed, corrupt, corrupted_rows, pixels
from tailormix.data.features import TRAIN, check_classes
from tailormix.data.files.location import data_root, unusable
from tailormix.data.files.texts import READERS, read_own_texts
from tailormix.data.pixels import ENLARGE, class_files, read_images, subfolders
from tailormix.data.preprocessing import ImagePreprocessing
from tailormix.data.registry import DATASETS
from tailormix.data.splits import hold_out

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from torch import Tensor

    from tailormix.data.files.texts import Texts
    from tailormix.data.splits import Split
    from tailormix.experiments.features.backbones import Kind

TABLES = (".csv", ".tsv", ".tab", ".parquet", ".pq", ".txt")
PARTS = ("train", "validation", "test")
#: parts with a meaning of their own: another spelling is taken for a mistake
KNOWN_PARTS = (*PARTS, "new")
#: names of parts are in the names of files
PLAIN = re.compile(r"\w[\w .+-]{0,59}")


@dataclass(frozen=True, eq=False)
class Part:
    """Rows of one part: their classes and ids, and ``fetch(rows, chunk)``, which gives a chunk of them.

    A chunk is a list of texts, or images (n, channels, H, W) as bytes from 0 to 255.
    """

    name: str
    labels: Tensor
    ids: Tensor
    fetch: Callable[[Tensor, int], Any]

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True, eq=False)
class Source:
    """All parts of the data, and the names of the classes.

    ``sha256`` is that of the texts with their classes, or of the paths and sizes of the files in a folder of
    images; images of a data set that is known by its name have none.
    """

    name: str
    kind: Kind
    parts: tuple[Part, ...]
    class_names: tuple[str, ...]
    sha256: str | None = None


def read_source(
    name: str,
    *,
    options: Mapping[str, Any],
    columns: Mapping[str, Any],
    size: int,
    test_limit: int | None = None,
) -> Source:
    """The source that a data set's name, a table or file of texts, or a folder of images stands for.

    ``options`` are those of the data set, ``columns`` the names of the columns text and label of a table.
    Photographs are decoded at ``size`` pixels. Test rows beyond ``test_limit`` are left out. Files that could
    not be trained on are refused here, before anything is encoded.
    """
    path = Path(name)
    if name in READERS:
        _no_options(name, options, ("root",))
        return text_source(name, READERS[name](data_root(options.get("root"))), test_limit)
    if name not in DATASETS and path.suffix.lower() in TABLES:
        _no_options(name, options, ())
        return _trainable(path, own_text_source(path, columns, test_limit))
    if name not in DATASETS and path.is_dir():
        _no_options(name, options, ())
        return _trainable(path, folder_source(path, size, test_limit))
    if name not in DATASETS and ("/" in name or path.suffix):
        raise unusable(path, "a data set, a table of texts or a folder of images", "no such thing")
    return image_source(checks.known("data set or folder", name, DATASETS), options, size, test_limit)


def kind_of(name: str) -> Kind:
    """Whether a source holds texts or images, as far as its name tells.

    >>> kind_of("clinc150"), kind_of("my.csv"), kind_of("cifar10")
    ('texts', 'texts', 'images')
    """
    table = name not in DATASETS and Path(name).suffix.lower() in TABLES
    return "texts" if name in READERS or table else "images"


def own_text_source(path: Path, columns: Mapping[str, Any], test_limit: int | None = None) -> Source:
    """The texts of a table or .txt file of the user, whose parts must have plain names."""
    try:
        texts = read_own_texts(path, **columns)
    except UnicodeDecodeError as error:
        told = f"byte 0x{error.object[error.start]:02x} at position {error.start}"
        raise unusable(path, "text in UTF-8", told) from error
    spelled = {part.casefold(): part for part in KNOWN_PARTS}
    for part in texts.rows():
        if not PLAIN.fullmatch(part):
            expected = "a name of letters, digits, spaces and . _ + - (60 at most) in the column 'part'"
            raise unusable(path, expected, repr(part))
        known = spelled.setdefault(part.casefold(), part)
        if part != known:
            raise unusable(path, f"{known!r} in the column 'part'", repr(part))
    return text_source(path.name, texts, test_limit)


def text_source(name: str, texts: Texts, test_limit: int | None = None) -> Source:
    """The parts of texts, in the order in which they first occur."""
    parts = []
    for part, rows in texts.rows().items():
        if part == "test":
            rows = rows[_limited(texts.labels[rows], test_limit)]
        parts.append(Part(part, texts.labels[rows], rows, partial(_texts_at, texts.texts, rows)))
    if not parts:
        raise ValueError(f"{name} holds no texts")
    sha256 = _sha256([texts.texts, texts.labels.tolist(), texts.parts, texts.class_names])
    return Source(name, "texts", tuple(parts), texts.class_names, sha256)


def folder_source(path: Path, size: int, test_limit: int | None = None) -> Source:
    """The images of class folders, of such folders in ``train``, ``validation`` and ``test``, or new ones.

    Images that lie in the folder itself have no class: they are the part ``new``.
    """
    inner = subfolders(path)
    if not inner:
        files, _ = class_files(path, ["."])
        if not files:
            raise unusable(path, "images, or folders of images", "none")
        new = _files("new", files, torch.full((len(files),), -1), torch.arange(len(files)), size)
        return Source(path.name, "images", (new,), (), _files_sha256(path, files))
    named = [part for part in PARTS if part in inner] if "train" in inner else []
    if named and set(inner) - set(named):
        others = ", ".join(sorted(set(inner) - set(named)))
        raise unusable(path, f"beside train the folders {', '.join(PARTS[1:])} alone", others)
    folders = [(part, path / part) for part in named] or [("train", path)]
    classes = subfolders(folders[0][1])
    parts: list[Part] = []
    all_files: list[str] = []
    for part, folder in folders:
        if subfolders(folder) != classes or len(classes) < 2:
            told = ", ".join(subfolders(folder)) or "none"
            raise unusable(folder, f"class folders {', '.join(classes)}, two or more", told)
        files, labels = class_files(folder, classes)
        if not files:
            raise unusable(folder, "images in the class folders", "none")
        rows = _limited(labels, test_limit) if part == "test" else torch.arange(len(files))
        chosen = [files[row] for row in rows.tolist()]
        parts.append(_files(part, chosen, labels[rows], len(all_files) + rows, size))
        all_files += files
    return Source(path.name, "images", tuple(parts), tuple(classes), _files_sha256(path, all_files))


def image_source(name: str, options: Mapping[str, Any], size: int, test_limit: int | None = None) -> Source:
    """The images of a data set; validation rows stay among the training rows, to be cut later."""
    parameters = inspect.signature(DATASETS[name].loader).parameters
    defaults = {"validation": 0.0, "augment": False, "image_size": size}
    chosen = {key: value for key, value in defaults.items() if key in parameters} | dict(options)
    splits = data.load(name, **chosen)
    if not isinstance(splits.preprocessing, ImagePreprocessing):
        raise ValueError(f"features are made of texts or images, and {name} holds neither")
    maximum, parts = splits.preprocessing.maximum, []
    for part in PARTS:
        split: Split = getattr(splits, part)
        rows = _limited(split.targets, test_limit) if part == "test" else torch.arange(len(split))
        if len(rows):
            fetch = partial(_pixels_at, split, rows, maximum)
            parts.append(Part(part, split.targets[rows], split.ids[rows], fetch))
    return Source(splits.name, "images", tuple(parts), splits.class_names)


def with_corruptions(
    source: Source, kinds: Sequence[str], severities: Sequence[int], limit: int | None
) -> Source:
    """The source, and its test images once more for each kind and severity, as ``data.corrupt`` has them."""
    test = next((part for part in source.parts if part.name == "test"), None)
    if source.kind != "images" or test is None:
        raise ValueError(f"corruptions are for the test images of a data set, and {source.name} has none")
    rows = corrupted_rows(len(test), limit)
    parts = [
        Part(
            f"{kind}-{severity}",
            test.labels[rows],
            test.ids[rows],
            partial(_corrupted_at, test, rows, kind, severity),
        )
        for kind in kinds
        for severity in severities
    ]
    return replace(source, parts=(*source.parts, *parts))


def _texts_at(texts: Sequence[str], places: Tensor, rows: Tensor, _chunk: int) -> list[str]:
    return [texts[place] for place in places[rows].tolist()]


def _pixels_at(split: Split, places: Tensor, maximum: int, rows: Tensor, _chunk: int) -> Tensor:
    return pixels(split, places[rows], maximum)


def _corrupted_at(test: Part, places: Tensor, kind: str, severity: int, rows: Tensor, chunk: int) -> Tensor:
    return corrupt(test.fetch(places[rows], chunk), kind, severity, chunk_seed(kind, severity, chunk))


def _files(part: str, files: Sequence[str], labels: Tensor, ids: Tensor, size: int) -> Part:
    def fetch(rows: Tensor, _chunk: int) -> Tensor:
        return read_images([files[row] for row in rows.tolist()], (3, size, size), ENLARGE)

    return Part(part, labels, ids, fetch)


def _trainable(path: Path, source: Source) -> Source:
    """The source, if training could use its classes; without a part ``train`` it is for predicting."""
    labels = torch.cat([part.labels for part in source.parts])
    rows, first = {}, 0
    for part in source.parts:
        rows[part.name] = torch.arange(first, first + len(part))
        first += len(part)
    if TRAIN in rows:
        check_classes(path, labels, rows, source.class_names)
    return source


def _files_sha256(folder: Path, files: Sequence[str]) -> str:
    """SHA-256 of the paths in the folder and the sizes of the files."""
    return _sha256([(Path(file).relative_to(folder).as_posix(), Path(file).stat().st_size) for file in files])


def _sha256(value: Any) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()


def _limited(labels: Tensor, limit: int | None) -> Tensor:
    """At most ``limit`` of the rows, always the same, classes stratified."""
    if limit is None or checks.integer("--test-limit", limit, at_least=1) >= len(labels):
        return torch.arange(len(labels))
    return hold_out(len(labels), limit, 0, labels)[1]


def _no_options(name: str, options: Mapping[str, Any], known: Sequence[str]) -> None:
    for key in options:
        checks.known(f"option of {name}", key, known or ("(none)",))
