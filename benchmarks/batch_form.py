"""The whole batch form of SK Mixup, embeddings given, against plain Mixup and against the memory limit."""

from __future__ import annotations

import torch

from benchmarks.record import Record, record
from tailormix import Mixup, SKMixup
from tailormix.benching.timing import race
from tailormix.training.memory import keep_freed_memory

SHAPES = {(128, 3, 32, 32): 0.9, (256, 3, 64, 64): 0.7}  # and the wanted share of the literal lerp's time
CLASSES, WIDTH = 10, 512
LERP, FLOOR = "torch.lerp(x[perm], x, lam)", "index_select + lerp_"
EAGER, COMPILED = "SK Mixup", "SK Mixup, compiled"


def run(quick: bool) -> list[Record]:
    """Time one call of the batch form at each shape."""
    keep_freed_memory()
    return [row for shape, target in SHAPES.items() for row in _race(shape, target, 0.05 if quick else 3.0)]


def _race(shape: tuple[int, ...], target: float, seconds: float) -> list[Record]:
    generator = torch.Generator().manual_seed(0)
    n = shape[0]
    x, h = torch.rand(shape, generator=generator), torch.randn(n, WIDTH, generator=generator)
    y = torch.randint(CLASSES, (n,), generator=generator)
    perm, lam = torch.randperm(n, generator=generator), torch.rand(n, 1, 1, 1, generator=generator)
    sk, mixup = SKMixup(num_classes=CLASSES), Mixup(alpha=0.2, num_classes=CLASSES)
    torch.compiler.reset()
    sk_compiled, mixup_compiled = (torch.compile(method.__call__, fullgraph=True) for method in (sk, mixup))
    timings = race(
        {
            EAGER: lambda: sk(x, y, embeddings=h),
            "Mixup": lambda: mixup(x, y),
            COMPILED: lambda: sk_compiled(x, y, embeddings=h),
            "Mixup, compiled": lambda: mixup_compiled(x, y),
            FLOOR: lambda: x.index_select(0, perm).lerp_(x, lam),
            LERP: lambda: torch.lerp(x[perm], x, lam),
        },
        seconds=seconds,
        calls=1,
    )
    size = "×".join(map(str, shape))
    return [
        record("batch form", size, EAGER, timings, against=LERP, at_most=target),
        record("batch form", size, "Mixup", timings, against=LERP),
        record("batch form", size, FLOOR, timings, against=LERP),
        record("batch form", size, COMPILED, timings, against="Mixup, compiled", at_most=1.1),
        record("batch form", size, COMPILED, timings, against=LERP),
        record("batch form", size, EAGER, timings, against="Mixup"),
    ]
