"""The mathematics of the paper's two theorems: gaps between classes, and noisy labels.

**Theorem 3.1.** Let two classes be closed, bounded and without a common point. Then (i) there are two of
their points, x_k and x_l, and numbers λ₂ < λ₁, so that no mix x̃(λ) = λ x_k + (1 - λ) x_l with λ₂ < λ < λ₁
lies in the class of either; and (ii) the stretch that is lost has the length (λ₁ - λ₂) ‖x_k - x_l‖: far pairs
lose much. (Closed is needed: with [0, 1) and [1, 2] every mix lies in one of the two.)

Here a class is a union of discs, so that where a line leaves it is a matter of square roots.

**Theorem 3.2.** x and x' are drawn from two classes, g(x) are the true probabilities of the labels at x, and
x̃ = (1 - λ) x + λ x'. The true label Ỹ* of the mix comes from g(x̃), the label Ỹ that Mixup gives it from
q = (1 - λ) g(x) + λ g(x'). Then

    P(Ỹ* ≠ Ỹ) ≥ min(λ, 1 - λ) / R · W₁(ν_y, ν_y'),

with W₁ the Wasserstein distance of the two classes' laws and R the diameter of the space. Whether it is true
depends on how the labels come from their probabilities:

- *sampled*, each by itself: true for any g, since 1 - q_m ≥ min(λ, 1 - λ) ((1 - g_m(x)) + (1 - g_m(x'))) and
  the bracket is at least TV(g(x), g(x')), for every m. It is 1 for separate classes, and W₁ ≤ R.
- *coupled*, sampled together so that they agree as often as they can: P(Ỹ* ≠ Ỹ) = TV(g(x̃), q), which is 0
  where g is linear between x and x'. The printed proof takes g(x̃) for g(x) at this point.
- *arg-max*, as the theorem is printed: nothing is random once x, x' and λ are fixed, and where both labels
  agree the left side is 0 while the right is not. :func:`counter_example` is such a case.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import linear_sum_assignment

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Discs:
    """A class: the union of discs with ``centres`` (k, 2) and ``radii`` (k,)."""

    centres: Numbers
    radii: Numbers

    def holds(self, points: Numbers) -> NDArray[np.bool_]:
        """Whether points (n, 2) lie in the class."""
        apart = np.linalg.norm(points[:, None] - self.centres, axis=2)
        inside: NDArray[np.bool_] = (apart <= self.radii).any(1)
        return inside


@dataclass(frozen=True, eq=False)
class Gap:
    """A pair, and λ₂ = ``low`` and λ₁ = ``high`` between which its mixes lie in the class of neither."""

    x_k: Numbers
    x_l: Numbers
    low: float
    high: float
    one_class: bool

    def mix(self, lam: Numbers) -> Numbers:
        """x̃(λ), (n, 2)."""
        found: Numbers = lam[:, None] * self.x_k + (1 - lam[:, None]) * self.x_l
        return found

    @property
    def length(self) -> float:
        """‖x̃(λ₁) - x̃(λ₂)‖, measured between the two points."""
        ends = self.mix(np.array([self.low, self.high]))
        return float(np.linalg.norm(ends[1] - ends[0]))

    @property
    def promised(self) -> float:
        """(λ₁ - λ₂) ‖x_k - x_l‖."""
        return (self.high - self.low) * float(np.linalg.norm(self.x_k - self.x_l))


def gaps(x_k: Numbers, x_l: Numbers, own: Discs) -> list[tuple[float, float]]:
    """Open intervals of λ in [0, 1] where λ x_k + (1 - λ) x_l lies in no disc of ``own``, in order.

    A disc around c of radius r holds x̃(λ) where |x_l - c + λ (x_k - x_l)|² ≤ r²: between two roots in λ.

    >>> two = Discs(np.array([[0.0, 0.0], [4.0, 0.0]]), np.array([1.0, 1.0]))
    >>> gaps(np.array([0.0, 0.0]), np.array([4.0, 0.0]), two)
    [(0.25, 0.75)]
    """
    along, start = x_k - x_l, x_l - own.centres
    a, b = float(along @ along), start @ along
    under = b * b - a * ((start * start).sum(1) - own.radii**2)
    met = under >= 0
    root = np.sqrt(under[met])
    covered = sorted(zip((-b[met] - root) / a, (-b[met] + root) / a, strict=True))
    found, reached = [], 0.0
    for enters, leaves in covered:
        if enters > reached:
            found.append((reached, min(float(enters), 1.0)))
        reached = max(reached, float(leaves))
        if reached >= 1:
            break
    if reached < 1:
        found.append((reached, 1.0))
    return [(low, high) for low, high in found if high > low]


def widest_gap(first: Discs, second: Discs) -> Gap | None:
    """The pair of disc centres of two classes whose mixes are outside for the longest stretch."""
    best: Gap | None = None
    classes = (first, second)
    for i, j in ((0, 1), (0, 0), (1, 1)):
        own = first if i == j == 0 else second if i == j else union(first, second)
        for x_k in classes[i].centres:
            for x_l in classes[j].centres:
                if (x_k == x_l).all():
                    continue
                for low, high in gaps(x_k, x_l, own):
                    gap = Gap(x_k, x_l, low, high, one_class=i == j)
                    if best is None or gap.promised > best.promised:
                        best = gap
    return best


def union(first: Discs, second: Discs) -> Discs:
    """Both classes as one."""
    return Discs(np.concatenate((first.centres, second.centres)), np.concatenate((first.radii, second.radii)))


def random_classes(random: np.random.Generator, discs: int = 3) -> tuple[Discs, Discs]:
    """Two classes of ``discs`` discs each in the unit square; the radii are shrunk until they are apart."""
    centres = random.random((2, discs, 2))
    radii = random.uniform(0.02, 0.4, (2, discs))
    apart = np.linalg.norm(centres[0][:, None] - centres[1][None], axis=2)
    touching = apart / (radii[0][:, None] + radii[1][None])
    radii = radii * min(1.0, 0.95 * float(touching.min()))
    return Discs(centres[0], radii[0]), Discs(centres[1], radii[1])


READINGS = ("sampled", "coupled", "arg-max")


@dataclass(frozen=True, eq=False)
class Instance:
    """Classes as equally likely points (M, k, d); a point of class 0, one of class 1, and λ.

    ``sharpness`` p makes the truth between the classes: g_m(x) ∝ (distance to class m)^-p, which is 1 on
    class m itself.
    """

    classes: Numbers
    x: Numbers
    other: Numbers
    lam: float
    sharpness: float = 1.0

    @property
    def mixed(self) -> Numbers:
        """x̃ = (1 - λ) x + λ x'."""
        found: Numbers = (1 - self.lam) * self.x + self.lam * self.other
        return found


def bound(instance: Instance) -> float:
    """min(λ, 1 - λ) / R · W₁(ν_0, ν_1); R is the largest distance of any two points."""
    points = instance.classes.reshape(-1, instance.classes.shape[-1])
    across = float(_distances(points, points).max())
    strength = min(instance.lam, 1 - instance.lam)
    return strength / across * wasserstein(instance.classes[0], instance.classes[1])


def wasserstein(first: Numbers, second: Numbers) -> float:
    """W₁ of two laws on k equally likely points (k, d) each: the cheapest matching.

    >>> wasserstein(np.array([[0.0], [1.0]]), np.array([[6.0], [5.0]]))
    5.0
    """
    cost = _distances(first, second)
    return float(cost[linear_sum_assignment(cost)].mean())


def truth(instance: Instance, point: Numbers) -> Numbers:
    """g(point), (M,): certain on the classes, shared between them elsewhere."""
    nearest = np.array([_distances(point[None], one).min() for one in instance.classes])
    there = nearest == 0
    weight = there if there.any() else (nearest.min() / nearest) ** instance.sharpness
    found: Numbers = weight / weight.sum()
    return found


def noise(instance: Instance) -> dict[str, float]:
    """P(Ỹ* ≠ Ỹ) under each reading."""
    real = truth(instance, instance.mixed)
    given = (1 - instance.lam) * truth(instance, instance.x) + instance.lam * truth(instance, instance.other)
    return {
        "sampled": float(1 - real @ given),
        "coupled": float(np.abs(real - given).sum() / 2),
        "arg-max": float(real.argmax() != given.argmax()),
    }


def random_instance(random: np.random.Generator, classes: int = 3, points: int = 5) -> Instance:
    """Clusters of points in the plane, of any width and place, and a random pair of the first two."""
    middles, width = random.uniform(-1, 1, (classes, 1, 2)), random.uniform(0.02, 0.6)
    clusters = middles + width * random.standard_normal((classes, points, 2))
    rows = random.integers(points, size=2)
    lam, sharpness = random.random(), random.uniform(0.5, 6)
    return Instance(clusters, clusters[0, rows[0]], clusters[1, rows[1]], float(lam), float(sharpness))


def counter_example() -> Instance:
    """Classes on [0, 2], [6, 8] and [10, 12] of a line, x = 0, x' = 6, λ = ¼: x̃ = 1.5 lies in the first.

    Both arg-max labels are the first class, surely, but the bound is ¼ · 6 / 12 = ⅛. With a sampled label Ỹ
    is the second class in a quarter of all cases, and ¼ ≥ ⅛.

    >>> noise(counter_example()), bound(counter_example())
    ({'sampled': 0.25, 'coupled': 0.25, 'arg-max': 0.0}, 0.125)
    """
    steps = np.linspace(0, 2, 5)[:, None]
    return Instance(np.stack([steps, 6 + steps, 10 + steps]), np.array([0.0]), np.array([6.0]), 0.25)


def _distances(first: Numbers, second: Numbers) -> Numbers:
    found: Numbers = np.linalg.norm(first[:, None] - second[None], axis=2)
    return found
