"""d̄ (Eq. 5) and τ (Eq. 4) against values worked by hand, numpy in float64, and their limits."""

import math
import tempfile

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from helpers import run_python
from tailormix import pair_distance, similarity_kernel
from tailormix.kernel import all_distances


def reference(z: Tensor, partner: Tensor, power: int = 2) -> np.ndarray:
    points = z.double().flatten(1).numpy()
    distance = (((points - points[partner.numpy()]) ** 2).sum(1)) ** (power / 2)
    return distance / distance.mean()


def test_by_hand() -> None:
    """Points 0, 1, 3 in a ring: squares 1, 4, 9 with mean 14/3; lengths 1, 2, 3 with mean 2."""
    z, ring = torch.tensor([[0.0], [1.0], [3.0]]), torch.tensor([1, 2, 0])
    torch.testing.assert_close(pair_distance(z, ring), torch.tensor([3 / 14, 12 / 14, 27 / 14]))
    torch.testing.assert_close(pair_distance(z, ring, squared=False), torch.tensor([0.5, 1.0, 1.5]))


@pytest.mark.parametrize("squared", [True, False])
@pytest.mark.parametrize("shape", [(7,), (7, 5), (7, 3, 4, 4), (128, 2)])
def test_any_shape_against_numpy(shape: tuple[int, ...], squared: bool, generator: torch.Generator) -> None:
    z = torch.randn(shape, generator=generator)
    partner = torch.randperm(shape[0], generator=generator)
    z = z[:, None] if z.dim() == 1 else z
    got = pair_distance(z.reshape(shape), partner, squared=squared)
    np.testing.assert_allclose(got.double(), reference(z, partner, 2 if squared else 1), rtol=1e-5)


@given(st.floats(1e-30, 1e30), st.integers(2, 20))
def test_scale_does_not_matter(scale: float, n: int) -> None:
    z = torch.randn(n, 4, generator=torch.Generator().manual_seed(n))
    ring = torch.arange(n).roll(1)
    torch.testing.assert_close(pair_distance(z * scale, ring), pair_distance(z, ring), rtol=1e-4, atol=1e-6)


@given(st.integers(1, 40))
def test_mean_is_one(n: int) -> None:
    generator = torch.Generator().manual_seed(n)
    got = pair_distance(torch.randn(n, 3, generator=generator), torch.randperm(n, generator=generator))
    assert got.mean().item() == pytest.approx(1, abs=1e-5)
    assert bool((got >= 0).all())


def test_half_precision_wide_embeddings_do_not_overflow(generator: torch.Generator) -> None:
    z = (torch.randn(16, 2048, generator=generator) * 100).half()
    partner = torch.arange(16).roll(1)
    got = pair_distance(z, partner)
    assert got.dtype == torch.float32
    np.testing.assert_allclose(got.double(), reference(z, partner), rtol=1e-5)


@pytest.mark.parametrize("size", [1e25, 3e37])
def test_huge_embeddings(size: float, generator: torch.Generator) -> None:
    z = torch.randn(6, 5, generator=generator)
    ring = torch.arange(6).roll(1)
    torch.testing.assert_close(pair_distance(z * size, ring), pair_distance(z, ring), rtol=1e-4, atol=1e-6)


def test_one_far_point_leaves_the_others_near() -> None:
    z = torch.tensor([[0.0], [1.0], [1e25], [0.0]])
    got = pair_distance(z, torch.tensor([1, 0, 3, 2]))
    assert got.tolist() == [0.0, 0.0, 2.0, 2.0]


@pytest.mark.parametrize("squared", [True, False])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_identical_points_have_average_distance(n: int, squared: bool) -> None:
    z = torch.full((n, 3), 0.1)
    assert pair_distance(z, torch.arange(n).roll(1), squared=squared).tolist() == [1.0] * n


def test_one_sample_and_none() -> None:
    assert pair_distance(torch.rand(1, 4), torch.tensor([0])).tolist() == [1.0]
    assert pair_distance(torch.rand(0, 4), torch.empty(0, dtype=torch.long)).shape == (0,)
    assert pair_distance(torch.rand(2, 0), torch.tensor([1, 0])).tolist() == [1.0, 1.0]


def test_partners_from_elsewhere() -> None:
    """From 0 and 1 to 2 and 5: squares 4 and 16, mean 10."""
    got = pair_distance(
        torch.tensor([[0.0], [1.0]]), torch.tensor([1, 2]), partners=torch.tensor([[9.0], [2.0], [5.0]])
    )
    torch.testing.assert_close(got, torch.tensor([0.4, 1.6]))


def test_float64_stays_and_large_labels_keep_their_differences() -> None:
    z = torch.tensor([[1e9], [1e9 + 1e-3], [1e9 + 3e-3]], dtype=torch.float64)
    got = pair_distance(z, torch.tensor([1, 2, 0]))
    assert got.dtype == torch.float64
    torch.testing.assert_close(got, torch.tensor([3 / 14, 12 / 14, 27 / 14]).double(), rtol=1e-3, atol=0)


def test_no_gradient_and_no_writing() -> None:
    z = torch.rand(4, 3, requires_grad=True)
    before = z.detach().clone()
    assert not pair_distance(z, torch.tensor([1, 2, 3, 0])).requires_grad
    assert torch.equal(z, before)


@pytest.mark.parametrize("size", [1e-30, 1e-21, 1e-9, 1.0, 1e9, 1e30])
@pytest.mark.parametrize("squared", [True, False])
@pytest.mark.parametrize("n", [7, 4096])
def test_points_of_any_size_give_the_same_relative_distances(n: int, size: float, squared: bool) -> None:
    z, partner = torch.rand(n, 4, generator=torch.Generator().manual_seed(0)), torch.arange(n).roll(1)
    wanted = pair_distance(z.double(), partner, squared=squared).float()
    got = pair_distance(z * size, partner, squared=squared)
    torch.testing.assert_close(got, wanted, rtol=2e-6, atol=0)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_points_must_be_finite_and_the_row_is_named(value: float) -> None:
    z = torch.rand(6, 2)
    z[4, 1] = value
    with pytest.raises(ValueError, match=r"embeddings .* must be finite, got NaN or infinity in row 4"):
        pair_distance(z, torch.arange(6))


def test_partner_must_fit() -> None:
    with pytest.raises(ValueError, match=r"partner must have shape \(4,\), got \(1,\)"):
        pair_distance(torch.rand(4, 2), torch.tensor([0]))


KERNEL = {  # τ at τ_max = 1 for d̄ = 0, 0.5, 1, 1.5, 2, 3
    0.25: [2980.958, 54.598, 1.0, 0.018316, 0.000335, 1.1e-7],
    0.5: [7.389056, 2.718282, 1.0, 0.367879, 0.135335, 0.018316],
    1.0: [1.648721, 1.284025, 1.0, 0.778801, 0.606531, 0.367879],
}


@pytest.mark.parametrize("tau_max", [1.0, 1e-4, 5.0])
@pytest.mark.parametrize("tau_std", KERNEL)
def test_kernel_values(tau_std: float, tau_max: float) -> None:
    distance = torch.tensor([0.0, 0.5, 1.0, 1.5, 2.0, 3.0])
    expected = torch.tensor(KERNEL[tau_std]) * tau_max
    torch.testing.assert_close(similarity_kernel(distance, tau_max, tau_std), expected, rtol=3e-2, atol=0)
    inner = slice(0, 4)
    torch.testing.assert_close(
        similarity_kernel(distance, tau_max, tau_std)[inner], expected[inner], rtol=2e-5, atol=0
    )


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
@pytest.mark.parametrize("tau_max", [0.0, 1e-300, 1e-4, 1.0, 1e30, 1e300])
@pytest.mark.parametrize("tau_std", [5e-324, 1e-200, 1e-3, 0.25, 1e3, 1e200])
def test_kernel_never_gives_nan(tau_std: float, tau_max: float, dtype: torch.dtype) -> None:
    got = similarity_kernel(torch.tensor([0.0, 0.5, 1.0, 2.0, 100.0], dtype=dtype), tau_max, tau_std)
    assert bool((got >= 0).all())


@pytest.mark.parametrize("tau_max", [0.3, 1.0, 7.0])
def test_average_distance_gives_tau_max_exactly(tau_max: float) -> None:
    ones = torch.ones(5)
    for tau_std in (1e-30, 0.25, 1e10):
        assert torch.equal(similarity_kernel(ones, tau_max, tau_std), ones * tau_max)


@given(st.floats(0, 5), st.floats(0, 5), st.floats(0.1, 10))
def test_nearer_pairs_are_mixed_more(a: float, b: float, tau_std: float) -> None:
    tau = similarity_kernel(torch.tensor(sorted((a, b)), dtype=torch.float64), 1.0, tau_std)
    assert tau[0] >= tau[1]


@pytest.mark.parametrize(
    ("tau_max", "tau_std", "error", "message"),
    [
        (-1.0, 1.0, ValueError, "tau_max must be >= 0, got -1.0"),
        (math.inf, 1.0, ValueError, "tau_max must be finite, got inf"),
        (1.0, 0.0, ValueError, "tau_std must be > 0, got 0.0"),
        (1.0, -0.1, ValueError, "tau_std must be > 0, got -0.1"),
        (1.0, math.nan, ValueError, "tau_std must be > 0, got nan"),
        ("1", 1.0, TypeError, "tau_max must be a number, got str: '1'"),
        (1.0, True, TypeError, "tau_std must be a number, got bool: True"),
    ],
)
def test_bad_kernel_settings(tau_max: float, tau_std: float, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        similarity_kernel(torch.ones(2), tau_max, tau_std)


TWO_RANKS = """
import sys, torch
import torch.distributed as dist
import torch.multiprocessing as mp
from tailormix import SKMixup, pair_distance

Z = torch.randn(7, 3, generator=torch.Generator().manual_seed(0))
PARTS = [(Z[:3], torch.tensor([1, 2, 0])), (Z[3:], torch.tensor([2, 3, 1, 0]))]

def rank(number, store, queue):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=number, world_size=2)
    z, partner = PARTS[number]
    group = dist.group.WORLD
    found = pair_distance(z, partner, group=group), pair_distance(z, partner, squared=False, group=group)
    same = pair_distance(torch.ones(2, 3), torch.tensor([1, 0]), group=group)
    plan = SKMixup(num_classes=2).plan(z, torch.zeros(len(z), dtype=torch.long), embeddings=z, group=group)
    queue.put((number, [f.tolist() for f in (*found, same)], plan.distance.sum().item(), len(plan)))
    dist.destroy_process_group()

if __name__ == "__main__":
    context = mp.get_context("fork")
    queue = context.Queue()
    ranks = [context.Process(target=rank, args=(i, sys.argv[1], queue)) for i in range(2)]
    [r.start() for r in ranks]
    results = sorted(queue.get(timeout=120) for _ in ranks)
    [r.join() for r in ranks]
    partner = torch.cat((PARTS[0][1], PARTS[1][1] + 3))
    for i, squared in enumerate((True, False)):
        both = torch.tensor(results[0][1][i] + results[1][1][i])
        torch.testing.assert_close(both, pair_distance(Z, partner, squared=squared))
    assert results[0][1][2] == results[1][1][2] == [1.0, 1.0]
    total = sum(r[2] for r in results)  # the mean over all ranks is 1
    assert abs(total - 7) < 1e-4, total
    print("equal")
"""


def test_two_processes_measure_like_one() -> None:
    with tempfile.TemporaryDirectory() as folder:
        assert run_python(TWO_RANKS, arguments=[f"{folder}/store"]).strip() == "equal"


def test_partners_may_carry_a_gradient() -> None:
    z, pool = torch.rand(4, 3), torch.rand(6, 3, requires_grad=True)
    partner = torch.tensor([5, 0, 2, 3])
    found = pair_distance(z, partner, partners=pool)
    assert not found.requires_grad
    torch.testing.assert_close(found, pair_distance(z, partner, partners=pool.detach()))
    wide = pair_distance(z, partner, partners=pool.detach().double())
    assert wide.dtype == torch.float32
    torch.testing.assert_close(wide, found)


def test_whole_distances_have_a_kernel_of_real_numbers() -> None:
    found = similarity_kernel(torch.tensor([0, 1, 2]), 1.0, 0.5)
    torch.testing.assert_close(found, torch.tensor([math.exp(2), 1.0, math.exp(-2)]))


def test_distances_of_all_pairs_keep_small_differences_of_large_points() -> None:
    points = torch.tensor([[1e6], [1e6 + 1], [1e6 + 3]])
    assert all_distances(points).tolist() == [[0.0, 1.0, 3.0], [1.0, 0.0, 2.0], [3.0, 2.0, 0.0]]
