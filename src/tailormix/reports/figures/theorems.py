"""The two theorems in numbers: thousands of small worlds, and the one where the second fails as printed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tailormix import checks

from .record import FigureResult, settled, write_figure

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from .class_gaps import Gap

    Numbers = NDArray[np.float64]

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
    from .theorem_pictures import draw_theorems

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
    import numpy as np

    from .class_gaps import random_classes, widest_gap

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
    import numpy as np

    return gap.mix(gap.low + np.array(INSIDE) * (gap.high - gap.low))


def draw_noise(instances: int, seed: int) -> tuple[Numbers, dict[str, Numbers]]:
    """The bound (n,) of random instances and, under each reading, their P(Ỹ* ≠ Ỹ), (n,)."""
    import numpy as np

    from .noisy_labels import READINGS, bound, noise, random_instance

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
    from .noisy_labels import bound, counter_example, noise, truth, wasserstein

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
