"""How two things are blended."""

import torch
from tailormix.draws import Draws

from tailormix import Plan
from tailormix.batch import Batch, Pool
from tailormix.interpolation import Identity, Linear

DRAWS = Draws(torch.device("cpu"), torch.Generator().manual_seed(0))
PLAN = Plan(torch.tensor([1, 0]), torch.tensor([0.75, 0.5]))
X = torch.tensor([[0.0], [8.0]])


def test_linear_by_hand() -> None:
    mixed = Linear()(Batch(X, torch.tensor([0, 1])), PLAN, DRAWS)
    assert mixed.x.tolist() == [[2.0], [4.0]]
    assert mixed.plan is PLAN
    assert mixed.place is None
    assert X.tolist() == [[0.0], [8.0]]


def test_linear_with_a_pool_that_augments() -> None:
    """The pool's function is asked for rows 1 and 0 and answers 100·row: ¾·0 + ¼·100 and ½·8 + ½·0."""
    asked: list[list[int]] = []

    def fetch(index: torch.Tensor) -> torch.Tensor:
        asked.append(index.tolist())
        return 100.0 * index[:, None]

    batch = Batch(X, torch.tensor([0, 1]), pool=Pool(fetch, torch.tensor([0, 1])))
    assert Linear()(batch, PLAN, DRAWS).x.tolist() == [[25.0], [4.0]]
    assert asked == [[1, 0]]


def test_identity() -> None:
    mixed = Identity()(Batch(X, torch.tensor([0, 1])), PLAN, DRAWS)
    assert mixed.x is X
