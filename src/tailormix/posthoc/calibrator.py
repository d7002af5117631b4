"""What all calibrators of logits share: guarded fit and transform, and saving."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

import numpy as np
import torch

from tailormix.metrics.inputs import Classified, as_float, classified
from tailormix.posthoc import storage
from tailormix.predictions import Predictions, allow_fit, allow_use

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tailormix.metrics.inputs import Array
    from tailormix.predictions import Provenance

Record = TypeVar("Record")


class LogitCalibrator(ABC, Generic[Record]):
    """Fitted on logits and class indices, or on ``Predictions``; its result is a frozen record in ``fitted``.

    ``kind`` is its name on disk, ``gives`` what ``transform`` returns: "logits" or "probabilities".
    """

    kind: ClassVar[str]
    gives: ClassVar[str] = "logits"
    record: ClassVar[type[Any]]

    def __init__(self) -> None:
        self._fitted: Record | None = None
        self._provenance: Provenance | None = None

    @property
    def fitted(self) -> Record:
        """The fitted numbers and how they were found."""
        return fitted_or_raise(self._fitted, type(self).__name__)

    @property
    def provenance(self) -> Provenance:
        """The split and the points of the fit."""
        return fitted_or_raise(self._provenance, type(self).__name__)

    def fit(
        self, logits: Array | Predictions, targets: Array | None = None, *, imitate: str | None = None
    ) -> Self:
        """Fit on logits (n, C) and class indices (n,), or on predictions of a split that is not the test's.

        ``imitate="released-protocol"`` allows test points, and is written into everything that follows.
        """
        given = logits if isinstance(logits, Predictions) else _wrapped(logits, targets)
        if given.logits is None:
            raise ValueError(f"{type(self).__name__} is fitted on logits, got probabilities or a regression")
        if given.logits.ndim == 1:
            raise ValueError("logits must have shape (n, classes) to be calibrated, got (n,): stack 0 and z")
        provenance = allow_fit(given, imitate)
        self._fitted = self._fit(classified(given.logits, given.targets, from_logits=True))
        self._provenance = provenance
        return self

    def transform(self, logits: Array | Predictions, *, imitate: str | None = None) -> Any:
        """Calibrate logits; predictions that share points with the fit need ``imitate``, else they raise."""
        fitted = self.fitted
        if not isinstance(logits, Predictions):
            return on_any(logits, lambda z: self._apply(fitted, z))
        if logits.logits is None:
            raise ValueError(f"{type(self).__name__} is applied to logits, got probabilities or a regression")
        allowed = allow_use(self.provenance, logits, imitate)
        new = on_any(logits.logits, lambda z: self._apply(fitted, z))
        return replace(allowed, **({"logits": None} | {self.gives: new}))

    def save(self, path: str | Path) -> Path:
        """Write to ``.json`` or ``.safetensors``."""
        return storage.write(path, storage.pack(self.kind, self.fitted, self.provenance))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read back what ``save`` wrote."""
        return cls.restore(storage.read(path, kind=cls.kind))

    @classmethod
    def restore(cls, stored: storage.Stored) -> Self:
        """Return the calibrator that was stored."""
        new = cls()
        new._fitted, new._provenance = storage.unpack(cls.record, stored), stored.provenance
        return new

    @abstractmethod
    def _fit(self, given: Classified) -> Record:
        """Return the record of a fit."""

    @abstractmethod
    def _apply(self, fitted: Record, logits: torch.Tensor) -> torch.Tensor:
        """Return calibrated logits or probabilities of (m, C) logits."""


def fitted_or_raise(fitted: Record | None, name: str) -> Record:
    """Return the fitted record, or say that there is none yet."""
    if fitted is None:
        raise RuntimeError(f"{name} is not fitted: call fit first")
    return fitted


def on_any(array: Array, function: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    """Apply a tensor function to a tensor or a numpy array, giving back the kind that came."""
    if isinstance(array, torch.Tensor):
        return function(array)
    return function(as_float("logits", np.asarray(array))).numpy()


def _wrapped(logits: Array, targets: Array | None) -> Predictions:
    if targets is None:
        raise TypeError("targets must be given with logits")
    return Predictions(targets=targets, logits=logits)
