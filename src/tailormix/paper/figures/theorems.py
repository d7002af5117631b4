"""The theorems, checked on random instances.

In own words: let two classes be closed, bounded and without a common point. Then (i) there are two of their
points, x_k and x_l, and numbers λ₂ < λ₁, so that no mix x̃(λ) = λ x_k + (1 - λ) x_l with λ₂ < λ < λ₁ lies in
the class of either; and (ii) the stretch that is lost has the length (λ₁ - λ₂) ‖x_k - x_l‖: far pairs lose
much. (Closed is needed: with [0, 1) and [1, 2] every mix lies in one of the two.)

Here a class is a union of discs, so that where a line leaves it is a matter of square roots.

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
from typing import TYPE_CHECKING, Any

import numpy as np

from tailormix import checks
from tailormix.paper.drawing import FigureResult, settled, write_figure

if TYPE_CHECKING:
    from pathlib import Path

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


DEFAULTS: dict[str, Any] = {"instances": 2000, "seed": 0}
INSIDE = (0.02, 0.25, 0.5, 0.75, 0.98)
ROUNDING = 1e-12
CAPTION = (
    "Left: straight lines between points of one class or of two leave the classes. Middle: with labels drawn "
    "at random the probability of a noisy label never falls below the bound of the second theorem. Right: "
    "with arg-max labels, as it is printed, it does wherever both labels agree. The star is a worked example."
)


def make(settings: dict[str, Any], runs: Path, out: Path) -> FigureResult:
    """Check both theorems on random instances and draw value against bound (needs no run).

    Settings: ``instances`` of each theorem, ``seed``.
    """
    from tailormix.paper.figures.theorem_pictures import draw_theorems

    del runs
    chosen = settled(settings, DEFAULTS)
    checks.integer("instances", chosen["instances"], at_least=1)
    found_gaps = check_gaps(chosen["instances"], chosen["seed"])
    bounds, noises = draw_noise(chosen["instances"], chosen["seed"])
    facts = {
        "caption": CAPTION,
        "settings": chosen,
        "theorem 3.1": found_gaps,
        "theorem 3.2": {name: compared(bounds, values) for name, values in noises.items()},
        "counter-example": example_facts(),
    }
    return write_figure(draw_theorems(bounds, noises), "theorems", out, facts)


def check_gaps(instances: int, seed: int) -> dict[str, Any]:
    """How many random pairs of classes have a gap (i), and how far its length is from the formula (ii)."""
    random = np.random.default_rng(seed)
    kinds, error, outside = {"one class": 0, "two classes": 0}, 0.0, 0
    for _ in range(instances):
        first, second = random_classes(random)
        gap = widest_gap(first, second)
        if gap is None:
            continue
        kinds["one class" if gap.one_class else "two classes"] += 1
        error = max(error, abs(gap.length - gap.promised))
        own = [one for one in (first, second) if not gap.one_class or one.holds(gap.x_k[None]).all()]
        outside += not any(one.holds(_middles(gap)).any() for one in own)
    facts = {"instances": instances, "with a gap": sum(kinds.values()), "widest gap between points of": kinds}
    return {**facts, "gaps whose mixes lie outside": outside, "largest error of the length": error}


def _middles(gap: Gap) -> Numbers:
    return gap.mix(gap.low + np.array(INSIDE) * (gap.high - gap.low))


def draw_noise(instances: int, seed: int) -> tuple[Numbers, dict[str, Numbers]]:
    """The bound (n,) of random instances and, under each reading, their P(Ỹ* ≠ Ỹ), (n,)."""
    random = np.random.default_rng(seed)
    drawn = [random_instance(random) for _ in range(instances)]
    values = [noise(one) for one in drawn]
    return np.array([bound(one) for one in drawn]), {
        reading: np.array([one[reading] for one in values]) for reading in READINGS
    }


def compared(bounds: Numbers, values: Numbers) -> dict[str, Any]:
    """How many values fall below their bound, and the smallest margin.

    >>> import numpy as np
    >>> compared(np.array([0.1, 0.2]), np.array([0.3, 0.0]))
    {'instances': 2, 'below the bound': 1, 'share below': 0.5, 'smallest margin': -0.2}
    """
    margin = values - bounds
    below = int((margin < -ROUNDING).sum())
    shares = {"share below": below / len(margin), "smallest margin": float(margin.min())}
    return {"instances": len(margin), "below the bound": below, **shares}


def example_facts() -> dict[str, Any]:
    """The counter-example with all its numbers."""
    one = counter_example()
    ends = [[float(group.min()), float(group.max())] for group in one.classes]
    return {
        "classes": ends,
        "x": float(one.x[0]),
        "x'": float(one.other[0]),
        "lambda": one.lam,
        "mixed": float(one.mixed[0]),
        "truth at mixed": truth(one, one.mixed).tolist(),
        "W1": wasserstein(one.classes[0], one.classes[1]),
        "R": float(one.classes.max() - one.classes.min()),
        "bound": bound(one),
        "noise": noise(one),
    }
