"""Predictions with their provenance, the leak guard, and the files of predictions.

Fitting a calibrator on predictions marked as test, or evaluating it on points that it was fitted on, raises
``LeakError``. The one way round is ``imitate=``, which names what is being imitated and is written into the
result.

An ``.npz`` holds ``logits`` or ``probabilities`` and ``targets``, or ``mean``, ``std`` and ``targets``;
optionally ``ids`` and ``split``. The same arrays as single files are ``test.logits.npy``,
``test.targets.npy`` … or, in a folder of their own, ``logits.npy``, ``targets.npy`` …
"""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tailormix import checks
from tailormix.atomic import write_atomically
from tailormix.data.files.arrays import names_in_npz, read_npz
from tailormix.data.files.location import DataError

if TYPE_CHECKING:
    import numpy.typing as npt


IMITATED: dict[str, str] = {
    "released-protocol": "fitted on the points it is evaluated on, as in the released configurations",
}

KINDS = (("logits",), ("probabilities",), ("mean", "std"))
SAMPLED_ROWS = 1000


class LeakError(ValueError):
    """Calibration would see the points that it is evaluated on."""


@dataclass(frozen=True, eq=False)
class Predictions:
    """What a model said about n points: ``logits`` or ``probabilities`` (n, C), or ``mean`` and ``std``.

    ``ids`` (n,) name the points across all splits of a data set; ``split`` is the name of theirs. Arrays
    are torch tensors or numpy arrays, memory-mapped ones too. ``imitates`` says that a leak was asked for,
    and by which name.

    >>> Predictions(targets=np.array([0, 1]), probabilities=np.eye(2), split="val").task
    'classification'
    """

    targets: Any
    logits: Any = None
    probabilities: Any = None
    mean: Any = None
    std: Any = None
    ids: Any = None
    split: str | None = None
    imitates: str | None = None

    def __post_init__(self) -> None:
        outputs = ("logits", "probabilities", "mean", "std")
        given = tuple(name for name in outputs if getattr(self, name) is not None)
        if given not in KINDS:
            raise ValueError(
                "predictions must hold logits, or probabilities, or mean and std, "
                f"got {' and '.join(given) or 'none of them'}"
            )
        for name in (*given, "targets", "ids"):
            array = getattr(self, name)
            if array is not None and np.ndim(array) == 0:
                raise ValueError(f"{name} must have one row per sample, got the single value {array!s:.40}")
        for name in (*given, "ids"):
            array = getattr(self, name)
            if array is not None and len(array) != len(self):
                raise ValueError(
                    f"{name} must have one row per target: expected {len(self)}, got {len(array)}"
                )

    def __len__(self) -> int:
        """Return n."""
        return len(self.targets)

    @property
    def task(self) -> str:
        """``"classification"`` or ``"regression"``."""
        return "regression" if self.mean is not None else "classification"

    @property
    def outputs(self) -> Any:
        """Logits, probabilities or mean, whichever is held."""
        return next(value for value in (self.logits, self.probabilities, self.mean) if value is not None)

    @property
    def from_logits(self) -> bool:
        """Whether ``outputs`` are logits."""
        return self.logits is not None

    @cached_property
    def points(self) -> npt.NDArray[np.int64] | None:
        """Sorted 64-bit hashes of the ids, or None without ids."""
        return None if self.ids is None else np.unique(hash_ids(self.ids))

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the ids in any order; without ids, of the targets and of rows all over the outputs."""
        if self.points is not None:
            return "ids:" + hashlib.sha256(self.points.tobytes()).hexdigest()
        rows = self.outputs[:: max(1, len(self) // SAMPLED_ROWS)]
        parts = (np.ascontiguousarray(to_numpy(part)).tobytes() for part in (self.targets, rows))
        return "content:" + hashlib.sha256(b"|".join(parts)).hexdigest()

    @property
    def is_test(self) -> bool:
        """Whether the split's name says that these are test points."""
        return self.split is not None and self.split.strip().lower().startswith("test")


@dataclass(frozen=True, eq=False)
class Provenance:
    """What a calibrator was fitted on."""

    split: str | None
    fingerprint: str
    samples: int
    imitates: str | None = None
    points: npt.NDArray[np.int64] | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return a record for JSON, without the hashed ids."""
        names = ("split", "fingerprint", "samples", "imitates")
        return {name: getattr(self, name) for name in names}


def hash_ids(ids: Any) -> npt.NDArray[np.int64]:
    """Return a 64-bit hash of each id; 7 and "7" are the same point."""
    names = (str(name) for name in to_numpy(ids).tolist())
    digests = b"".join(hashlib.blake2b(name.encode(), digest_size=8).digest() for name in names)
    return np.frombuffer(digests, dtype="<i8").astype(np.int64)


def to_numpy(array: Any) -> npt.NDArray[Any]:
    """Return a numpy array; bfloat16 tensors are widened, since numpy does not know them."""
    if hasattr(array, "detach"):
        array = array.detach().cpu()
        return np.asarray((array.float() if str(array.dtype) == "torch.bfloat16" else array).numpy())
    return np.asarray(array)


def known_imitation(imitate: str | None) -> str | None:
    """Return ``imitate`` if it is None or a known name."""
    return None if imitate is None else checks.known("imitate", imitate, IMITATED)


def check_fit(predictions: Predictions, imitate: str | None = None) -> Provenance:
    """Return the provenance of a fit on these points; raise if they are test points."""
    known_imitation(imitate)
    if predictions.is_test and imitate is None:
        raise LeakError(
            f"cannot fit on split {predictions.split!r}: use a validation split, "
            'or imitate="released-protocol" to repeat the released code on purpose'
        )
    return Provenance(
        predictions.split, predictions.fingerprint, len(predictions), imitate, predictions.points
    )


def check_use(fitted: Provenance, predictions: Predictions, imitate: str | None = None) -> Predictions:
    """Return the predictions, marked with what they imitate; raise where they share points with the fit.

    A fit that imitated the released protocol carries that name into everything it touches.
    """
    imitated = known_imitation(imitate) or fitted.imitates
    shared = shared_points(fitted, predictions)
    if shared and imitated is None:
        raise LeakError(
            f"{shared} of these {len(predictions)} points were fitted on (split {fitted.split!r}): "
            "evaluate on others, "
            'or pass imitate="released-protocol" to repeat the released code on purpose'
        )
    return replace(predictions, imitates=imitated or predictions.imitates)


def shared_points(fitted: Provenance, predictions: Predictions) -> int:
    """Return how many of these points the fit has seen: by id, or all if the content is the same."""
    if fitted.fingerprint == predictions.fingerprint:
        return len(predictions)
    if fitted.points is None or predictions.points is None:
        return 0
    return int(np.isin(hash_ids(predictions.ids), fitted.points).sum())


ARRAYS = ("logits", "probabilities", "mean", "std", "targets", "ids", "split")
OUTPUTS = ("logits", "probabilities", "mean")


def load_predictions(path: str | Path, *, split: str | None = None) -> Predictions:
    """Read predictions from an ``.npz`` file, one ``.npy`` file of several, or a folder that holds either.

    ``split`` names the split where the file does not; a different name in the file is an error.
    """
    path = Path(path)
    if path.is_dir():
        return load_predictions(_inside(path), split=split)
    if path.suffix not in (".npz", ".npy"):
        raise ValueError(f"predictions must be an .npz or .npy file or a folder, got {path.name!r}")
    try:
        arrays = _from_npz(path) if path.suffix == ".npz" else _from_npy(path)
    except DataError:
        raise  # names the file already
    except (ValueError, EOFError) as error:
        raise ValueError(f"cannot read {path}: {error}") from error
    if "targets" not in arrays:
        raise ValueError(
            f"{path} must hold the array 'targets', got {', '.join(sorted(arrays)) or 'nothing'}"
        )
    arrays["split"] = _split_name(arrays.get("split"), split, path)
    return Predictions(**arrays)


def save_predictions(path: str | Path, predictions: Predictions) -> Path:
    """Write predictions to one ``.npz`` file, in one step."""
    found = {name: getattr(predictions, name) for name in ARRAYS}
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **{k: to_numpy(v) for k, v in found.items() if v is not None})
    return write_atomically(path, buffer.getvalue())


def _inside(folder: Path) -> Path:
    for name in ("predictions.npz", *(f"{name}.npy" for name in OUTPUTS)):
        if (folder / name).is_file():
            return folder / name
    raise FileNotFoundError(
        f"{folder} holds neither predictions.npz nor logits.npy, probabilities.npy or mean.npy"
    )


def _from_npz(path: Path) -> dict[str, Any]:
    held = names_in_npz(path)
    names = [name for name in ARRAYS if name in held]
    return dict(zip(names, read_npz(path, names), strict=True))


def _from_npy(path: Path) -> dict[str, Any]:
    prefix, _, output = path.stem.rpartition(".")
    if output not in OUTPUTS:
        raise ValueError(f"expected a file name that ends in {', '.join(f'{name}.npy' for name in OUTPUTS)}")
    start = f"{prefix}." if prefix else ""
    files = {name: path.with_name(f"{start}{name}.npy") for name in ARRAYS}
    wanted = (output, *(name for name in ARRAYS if name not in OUTPUTS))
    return {
        name: np.load(files[name], mmap_mode="r", allow_pickle=False)
        for name in wanted
        if files[name].is_file()
    }


def _split_name(stored: Any, given: str | None, path: Path) -> str | None:
    """The one name that the file has for its split, or the one that was given where it has none."""
    name = None
    if stored is not None:
        values = np.unique(np.asarray(stored))
        names = [
            value.decode(errors="replace") if isinstance(value, bytes) else value for value in values.tolist()
        ]
        if len(names) != 1 or not isinstance(names[0], str) or not names[0].strip():
            shown = " and ".join(repr(each) for each in names[:3]) or "an empty array"
            raise ValueError(f"split in {path} must be one name, like 'test', got {shown}")
        name = names[0]
    if name is not None and given is not None and name != given:
        raise ValueError(f"split must be {name!r} as {path.name} says, got {given!r}")
    return name if name is not None else given
