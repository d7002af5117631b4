"""The shipped experiments by their command-line names."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib import resources
from typing import Any


@dataclass(frozen=True)
class Shipped:
    """An experiment file of this package."""

    file: str

    def text(self) -> str:
        """The file as it is."""
        return resources.files(__package__).joinpath("files", self.file).read_text(encoding="utf-8")

    @property
    def values(self) -> dict[str, Any]:
        """Its keys."""
        return tomllib.loads(self.text())

    @property
    def summary(self) -> str:
        """One line about it."""
        return str(self.values["summary"])


EXPERIMENTS: dict[str, Shipped] = {
    "moons": Shipped("moons.toml"),
    "circles": Shipped("circles.toml"),
    "digits-mlp": Shipped("digits-mlp.toml"),
    "digits-resnet8": Shipped("digits-resnet8.toml"),
    "digits-vit": Shipped("digits-vit.toml"),
    "cifar10-resnet8": Shipped("cifar10-resnet8.toml"),
    "cifar10-cpu": Shipped("cifar10-cpu.toml"),
    "airfoil": Shipped("airfoil.toml"),
    "exchange-rate": Shipped("exchange-rate.toml"),
    "exchange-rate-short": Shipped("exchange-rate-short.toml"),
}
