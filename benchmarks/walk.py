"""The walk of one batch: every function of ours that a loss and a batch form enter, in order.

``python -m benchmarks.walk`` prints both walks and their counts: frames (calls), files, and changes of file.
"""

from __future__ import annotations

import functools
import sys
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

import tailormix
from tailormix import SKMixup

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

OURS = Path(tailormix.__file__).parent
BUDGETS = {"loss": (40, 9, 18), "batch form": (20, 7, 10)}  # frames, files, changes of file


@dataclass(frozen=True)
class Walk:
    """The functions that were entered, as (file, function), in order."""

    frames: list[tuple[str, str]]

    @property
    def counts(self) -> tuple[int, int, int]:
        """Frames, files, and changes of file on the way."""
        files = [file for file, _ in self.frames]
        return len(files), len(set(files)), sum(a != b for a, b in pairwise(files))


def walk(call: Callable[[], Any]) -> Walk:
    """What ``call`` enters; comprehensions and generators that are resumed are no functions of their own."""
    frames: list[tuple[str, str]] = []
    seen: list[FrameType] = []  # held, so that no frame takes the identity of one that has ended

    def note(frame: FrameType, event: str, _: Any) -> None:
        path, name = Path(frame.f_code.co_filename), frame.f_code.co_name
        comprehension = name in ("<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>")
        resumed = any(frame is each for each in seen)
        if event == "call" and path.is_relative_to(OURS) and not comprehension and not resumed:
            seen.append(frame)
            frames.append((str(path.relative_to(OURS)), frame.f_code.co_qualname))

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return Walk(frames)


def walks() -> dict[str, Walk]:
    """The walks of the default method: a loss with a small model, and the batch form with embeddings."""
    torch.manual_seed(0)
    x, y = torch.randn(8, 4), torch.randint(3, (8,))
    model = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 3))
    embeddings = torch.randn(8, 16)
    calls: dict[str, Callable[[], Any]] = {
        "loss": functools.partial(SKMixup().loss, model, x, y),
        "batch form": functools.partial(SKMixup(num_classes=3), x, y, embeddings=embeddings),
    }
    found = {}
    for name, call in calls.items():
        call()  # what happens once per process is not part of the walk
        found[name] = walk(call)
    return found


def main() -> None:
    """Print the walks, with their counts beside the budgets."""
    for name, found in walks().items():
        print(f"{name}: one call of SKMixup")
        for (before, _), (file, function) in pairwise([("", ""), *found.frames]):
            print(f"  {file if file != before else '':28s} {function}")
        counts = zip(("frames", "files", "changes of file"), found.counts, BUDGETS[name], strict=True)
        print("  = " + ", ".join(f"{count} {what} (at most {most})" for what, count, most in counts) + "\n")


if __name__ == "__main__":
    main()
