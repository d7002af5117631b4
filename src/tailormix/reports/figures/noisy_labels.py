"""Theorem 3.2: the farther two classes are apart, the more often the label of a mix is wrong.

In own words: x and x' are drawn from two classes, g(x) are the true probabilities of the labels at x, and
x̃ = (1 - λ) x + λ x'. The true label Ỹ* of the mix comes from g(x̃), the label Ỹ that Mixup gives it from
q = (1 - λ) g(x) + λ g(x'). Then

    P(Ỹ* ≠ Ỹ) ≥ min(λ, 1 - λ) / R · W₁(ν_y, ν_y'),

with W₁ the Wasserstein distance of the two classes' laws and R the diameter of the space. How the labels come
from their probabilities decides whether it is true:

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

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

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
    across = float(_apart(points, points).max())
    strength = min(instance.lam, 1 - instance.lam)
    return strength / across * wasserstein(instance.classes[0], instance.classes[1])


def wasserstein(first: Numbers, second: Numbers) -> float:
    """W₁ of two laws on k equally likely points (k, d) each: the cheapest matching.

    >>> wasserstein(np.array([[0.0], [1.0]]), np.array([[6.0], [5.0]]))
    5.0
    """
    from scipy.optimize import linear_sum_assignment

    cost = _apart(first, second)
    return float(cost[linear_sum_assignment(cost)].mean())


def truth(instance: Instance, point: Numbers) -> Numbers:
    """g(point), (M,): certain on the classes, shared between them elsewhere."""
    nearest = np.array([_apart(point[None], one).min() for one in instance.classes])
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


def _apart(first: Numbers, second: Numbers) -> Numbers:
    found: Numbers = np.linalg.norm(first[:, None] - second[None], axis=2)
    return found
