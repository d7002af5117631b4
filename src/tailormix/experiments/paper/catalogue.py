"""Every table and figure by its command-line name. Free of torch."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib import resources
from typing import Any


@dataclass(frozen=True)
class Paper:
    """A data file of this package."""

    file: str

    @property
    def values(self) -> dict[str, Any]:
        """Its keys."""
        text = resources.files(__package__).joinpath(self.file).read_text(encoding="utf-8")
        return tomllib.loads(text)


PAPER: dict[str, Paper] = {
    "resnet34": Paper("resnet34.toml"),
    "resnet34-ts": Paper("resnet34-ts.toml"),
    "resnet101-ece": Paper("resnet101-ece.toml"),
    "resnet101-aece": Paper("resnet101-aece.toml"),
    "covariate-shift": Paper("covariate-shift.toml"),
    "imagenet": Paper("imagenet.toml"),
    "regression": Paper("regression.toml"),
    "quantiles": Paper("quantiles.toml"),
    "lookup": Paper("lookup.toml"),
    "cross-validation": Paper("cross-validation.toml"),
    "airfoil-warping": Paper("airfoil-warping.toml"),
    "airfoil-distance": Paper("airfoil-distance.toml"),
    "resnet34-distance": Paper("resnet34-distance.toml"),
    "two-beta": Paper("two-beta.toml"),
    "cutmix": Paper("cutmix.toml"),
    "efficiency": Paper("efficiency.toml"),
    "efficiency-classification": Paper("efficiency-classification.toml"),
    "efficiency-regression": Paper("efficiency-regression.toml"),
    "mismatch": Paper("mismatch.toml"),
    "mismatch-sk": Paper("mismatch-sk.toml"),
    "median-bars": Paper("median-bars.toml"),
    "density": Paper("density.toml"),
    "moons": Paper("moons.toml"),
    "circles": Paper("circles.toml"),
    "theorems": Paper("theorems.toml"),
    "airfoil-tuned": Paper("airfoil-tuned.toml"),
    "digits": Paper("digits.toml"),
    "cifar10": Paper("cifar10.toml"),
}
