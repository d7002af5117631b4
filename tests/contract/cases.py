"""What every named method is tried on: a new name is covered at once, exceptions go in the tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from tailormix import METHODS, Method, build_method

if TYPE_CHECKING:
    from collections.abc import Iterable

CLASSES = 3

# Settings that the defaults lack, by name: whatever a method cannot be built without.
SETTINGS: dict[str, dict[str, Any]] = {}

# Further forms of a method that must keep the contract, too: (name, settings).
VARIANTS: list[tuple[str, dict[str, Any]]] = [
    ("mixup", {"alpha": 0.2, "per": "sample"}),
    ("mixup", {"alpha": 0.0}),
    ("mixup", {"alpha": 2.0, "partners": "pool"}),
    ("warped-mixup", {"tau": 0.3, "tau_targets": 2.0, "per": "sample"}),
    ("sk-mixup", {"tau_max_targets": 0.1, "tau_std_targets": 1.0}),
    ("sk-mixup", {"sampling": "direct"}),
    ("sk-mixup", {"space": "input", "squared": False, "kind": "sigmoid"}),
    ("sk-mixup", {"space": "input", "partners": "pool"}),
    ("sk-mixup", {"space": torch.sin, "kind": "beta"}),
]

# Names that learn classes only, and names that learn real targets only: the other kind must be refused.
CLASSES_ONLY = {"rankmixup", "rankmixup-mrl", "mit-l", "mit-a", "remix"}
REAL_ONLY = {"c-mixup"}
# Names whose criterion must return one loss per sample.
LOSS_A_SAMPLE = {"local-mixup"}
# Names that take images only.
IMAGES_ONLY = {"cutmix", "sk-cutmix"}
# Names that do not mix at all, so that nothing depends on a generator.
STILL = {"erm"}
# Names whose batch form leaves the graph by design, such as an assignment solved by scipy.
NOT_COMPILED: set[str] = set()

INPUTS = {"images": (3, 8, 8), "series": (12, 4), "tabular": (6,)}
TARGETS = ("indices", "soft", "real", "column", "vectors")
REAL = ("real", "column", "vectors")


@dataclass(frozen=True)
class Case:
    """A method by name, with settings."""

    name: str
    settings: tuple[tuple[str, Any], ...] = ()

    def __str__(self) -> str:
        return "-".join((self.name, *(f"{k}={getattr(v, '__name__', v)}" for k, v in self.settings)))

    def takes(self, targets: str, inputs: str = "images") -> bool:
        fits = inputs == "images" or self.name not in IMAGES_ONLY
        return fits and self.name not in (CLASSES_ONLY if targets in REAL else REAL_ONLY)

    def method(self, targets: str = "indices", inputs: str = "images") -> Method:
        classes = None if targets in REAL else CLASSES
        built = build_method(self.name, num_classes=classes, **dict(self.settings))
        if not (built.pairs.source == "pool" or self.name == "remix"):
            return built
        seen = "indices" if targets in REAL and self.name in CLASSES_ONLY else targets
        return built.fit(*data(20, inputs, seen, seed=9)[:2])


def cases() -> list[Case]:
    """Every name with its defaults, and the further forms."""
    named = [Case(name, tuple(SETTINGS.get(name, {}).items())) for name in METHODS]
    return named + [Case(name, tuple(settings.items())) for name, settings in VARIANTS]


def data(
    n: int, inputs: str = "images", targets: str = "indices", seed: int = 0
) -> tuple[Tensor, Tensor, Tensor]:
    """Inputs, targets and embeddings of n samples."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.rand(n, *INPUTS[inputs], generator=generator)
    y = {
        "indices": torch.randint(CLASSES, (n,), generator=generator),
        "soft": torch.rand(n, CLASSES, generator=generator).softmax(1),
        "real": torch.randn(n, generator=generator),
        "column": torch.randn(n, 1, generator=generator),
        "vectors": torch.randn(n, 4, generator=generator),
    }[targets]
    return x, y, torch.randn(n, 5, generator=generator)


ALL = cases()
CASES = [case for case in ALL if case.takes("indices")]
BATCH_FORM = [case for case in CASES if case.method().batch_form]
MIXING = [case for case in CASES if case.name not in STILL]


def kinds(names: list[Case], targets: Iterable[str]) -> list[tuple[Case, str]]:
    """Methods with those kinds of targets that they take."""
    return [(case, kind) for case in names for kind in targets if case.takes(kind)]


class Model(nn.Module):
    """Any input to outputs shaped like the targets, with two hidden layers, and a count of its passes."""

    stages = ("first", "second")

    def __init__(self, inputs: str = "images", targets: str = "indices") -> None:
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(0)
            width = torch.Size(INPUTS[inputs]).numel()
            self.first = nn.Sequential(nn.Flatten(), nn.Linear(width, 7), nn.Tanh())
            self.second = nn.Sequential(nn.Linear(7, 5), nn.Tanh())
            self.head = nn.Linear(5, {"real": 1, "column": 1, "vectors": 4}.get(targets, CLASSES))
        self.flat = targets == "real"
        self.passes = 0

    def forward(self, x: Tensor) -> Tensor:
        self.passes += 1
        out = self.head(self.second(self.first(x)))
        return out.squeeze(1) if self.flat else out


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)
