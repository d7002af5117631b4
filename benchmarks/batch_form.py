"""The whole batch form of SK Mixup, embeddings given, against plain Mixup and against the memory limit."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import torch

from benchmarks.record import Record, record
from tailormix import Mixup, SKMixup
from tailormix.benching.timing import Contender, race

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    from tailormix import Method

SHAPES = {(128, 3, 32, 32): 1.6, (256, 3, 64, 64): 1.3}  # and the wanted share of the literal lerp's time
CLASSES, WIDTH = 10, 512
LERP, FLOOR = "torch.lerp(x[perm], x, lam)", "index_select + lerp_"
EAGER, COMPILED = "SK Mixup", "SK Mixup, compiled"


def run(quick: bool) -> list[Record]:
    """Time one call of the batch form at each shape: eagerly first, before the compiler hooks into Python."""
    seconds = 0.05 if quick else 3.0
    eager = [row for shape, target in SHAPES.items() for row in _eager(shape, target, seconds)]
    return eager + [row for shape in SHAPES for row in _compiled(shape, seconds)]


def _eager(shape: tuple[int, ...], target: float, seconds: float) -> list[Record]:
    sk, mixup = _methods(shape)
    timings = race({EAGER: sk, "Mixup": mixup, **_limits(shape)}, seconds=seconds, calls=1)
    size = "×".join(map(str, shape))
    return [
        record("batch form", size, EAGER, timings, against=LERP, at_most=target),
        record("batch form", size, "Mixup", timings, against=LERP),
        record("batch form", size, FLOOR, timings, against=LERP),
        record("batch form", size, EAGER, timings, against="Mixup"),
    ]


def _compiled(shape: tuple[int, ...], seconds: float) -> list[Record]:
    torch.compiler.reset()
    sk, mixup = _methods(shape, lambda method: torch.compile(method, fullgraph=True))
    contenders = {COMPILED: sk, "Mixup, compiled": mixup, LERP: _limits(shape)[LERP]}
    timings = race(contenders, seconds=seconds, calls=1)
    size = "×".join(map(str, shape))
    return [
        record("batch form", size, COMPILED, timings, against="Mixup, compiled"),
        record("batch form", size, COMPILED, timings, against=LERP),
    ]


def _methods(
    shape: tuple[int, ...], prepare: Callable[[Method], Callable[..., object]] = lambda method: method
) -> tuple[Contender, Contender]:
    """SK Mixup and Mixup on a batch of this shape."""
    x, y, h = _batch(shape)
    sk, mixup = prepare(SKMixup(num_classes=CLASSES)), prepare(Mixup(alpha=0.2, num_classes=CLASSES))
    return lambda: sk(x, y, embeddings=h), lambda: mixup(x, y)


def _limits(shape: tuple[int, ...]) -> dict[str, Contender]:
    """What blending alone takes, at its best and as it is usually written."""
    x, _, _ = _batch(shape)
    generator = torch.Generator().manual_seed(1)
    perm, lam = torch.randperm(len(x), generator=generator), torch.rand(len(x), 1, 1, 1, generator=generator)
    return {
        FLOOR: lambda: x.index_select(0, perm).lerp_(x, lam),
        LERP: lambda: torch.lerp(x[perm], x, lam),
    }


@functools.cache
def _batch(shape: tuple[int, ...]) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    x, h = torch.rand(shape, generator=generator), torch.randn(shape[0], WIDTH, generator=generator)
    return x, torch.randint(CLASSES, shape[:1], generator=generator), h
