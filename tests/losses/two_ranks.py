"""Two ranks that train with CRL under DDP: run as a program, each writes its history as JSON."""

from __future__ import annotations

import datetime as dt
import json
import multiprocessing
import sys
from pathlib import Path

import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel

from tailormix.losses import CRL


class Step(nn.Module):
    """Model and criterion behind one forward, as DDP wants it."""

    def __init__(self, criterion: CRL) -> None:
        super().__init__()
        self.model, self.criterion = nn.Linear(2, 2, bias=False), criterion
        nn.init.eye_(self.model.weight)

    def forward(self, x: torch.Tensor, y: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
        loss: torch.Tensor = self.criterion(self.model(x), y, ids)
        return loss.mean()


def train(criterion: CRL, ids: list[int], *, ddp: bool) -> list[int]:
    """Two steps of predictions that are all right; the counts after them."""
    step: nn.Module = DistributedDataParallel(Step(criterion)) if ddp else Step(criterion)
    x = torch.tensor([[1.0, 0.0]]).repeat(len(ids), 1)
    for _ in range(2):
        step(x, torch.zeros(len(ids), dtype=torch.long), torch.tensor(ids)).backward()
    return criterion.counts.tolist()


def main(rank: int, store: str) -> None:
    """Rank 0 holds three samples, rank 1 two."""
    limit = dt.timedelta(seconds=60)
    distributed.init_process_group(
        "gloo", init_method=f"file://{store}", rank=rank, world_size=2, timeout=limit
    )
    ids = [[0, 1, 2], [4, 5]][rank]
    alone = [distributed.new_group([r]) for r in range(2)][rank]
    result = {
        "all": train(CRL(size=6), ids, ddp=True),
        "alone": train(CRL(size=6, group=alone), ids, ddp=False),
    }
    Path(f"{store}.{rank}").write_text(json.dumps(result), encoding="utf-8")
    distributed.destroy_process_group()


if __name__ == "__main__":
    context = multiprocessing.get_context("fork")  # nothing has run yet, and torch is imported once
    ranks = [context.Process(target=main, args=(rank, sys.argv[1])) for rank in range(2)]
    for each in ranks:
        each.start()
    for each in ranks:
        each.join()
    sys.exit(max(abs(each.exitcode or 0) for each in ranks))
