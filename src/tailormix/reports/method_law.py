"""The law of a method's mixing coefficient against distance, asked of the method itself."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, final

import numpy as np
import torch

from tailormix.batch import Batch
from tailormix.coefficients.separated_betas import SeparatedBetas
from tailormix.draws import Draws
from tailormix.warping import inverse_beta

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailormix.words import Coefficients

LEVELS, BINS, FARTHEST = 1600, 80, 2.0


@final
@dataclass(frozen=True)
class Level:
    """Draws that all lie at one level u of their laws: swept over (0, 1), they trace any law without noise.

    >>> Level(0.25).uniform(2)
    tensor([0.2500, 0.2500])
    """

    u: float

    @property
    def device(self) -> torch.device:
        """Where the draws lie."""
        return torch.device("cpu")

    def uniform(self, *shape: int) -> torch.Tensor:
        """The level, in this shape."""
        return torch.full(shape, self.u)

    def levels(self, n: int) -> torch.Tensor:
        """The normal number at the level, n times."""
        normal: torch.Tensor = torch.special.ndtri(self.uniform(n).double())
        return normal.float()

    def beta(self, concentration: torch.Tensor) -> torch.Tensor:
        """The quantile of Beta(τ_i, τ_i) at the level."""
        return inverse_beta(self.uniform(*concentration.shape), concentration)


def coefficient_law(word: Coefficients) -> NDArray[np.float64] | None:
    """Density (BINS, BINS) of λ, upwards, at distances from 0 to FARTHEST; None if nothing is mixed.

    The method's own coefficients are asked about pairs at all these distances, once for every level of
    their draws. Each column has mean 1.

    >>> from tailormix import ERM, Mixup
    >>> coefficient_law(ERM().coefficients) is None
    True
    >>> coefficient_law(Mixup(alpha=1.0).coefficients).max()  # uniform at every distance
    np.float64(1.0)
    """
    batch, partner = _pairs(squared=getattr(word, "squared", True))
    if hasattr(word, "fit"):  # counts classes: all alike, since the pairs are none of the training set's
        batch = replace(batch, y=torch.zeros(len(batch), dtype=torch.long))
        word = word.fit(batch.y)
    lam = torch.stack([word(batch, partner, _draws(word, number)).lam[:BINS] for number in range(LEVELS)])
    if bool((lam == lam[0, 0]).all()):
        return None
    counts = [np.histogram(column, bins=BINS, range=(0, 1))[0] for column in lam.double().numpy().T]
    return np.stack(counts, axis=1) * (BINS / LEVELS)


def _draws(word: Coefficients, number: int) -> Any:
    if isinstance(word, SeparatedBetas):  # chooses among many candidates: those of one level are all alike
        return Draws(torch.device("cpu"), torch.Generator().manual_seed(number))
    return Level((number + 0.5) / LEVELS)


def _pairs(*, squared: bool) -> tuple[Batch, torch.Tensor]:
    """Pairs on a line, alike in all spaces, whose relative distances are the middles of equal steps."""
    distance = FARTHEST * (torch.arange(BINS, dtype=torch.float64) + 0.5) / BINS  # their mean is 1
    places = torch.cat((torch.zeros(BINS), distance.sqrt() if squared else distance))[:, None]
    partner = torch.cat((torch.arange(BINS, 2 * BINS), torch.arange(BINS)))
    return Batch(places, places, embeddings=places), partner
