"""Interpolation: identity, linear, boxes and hidden layers."""

from __future__ import annotations

import pytest
import torch
from scipy import stats
from torch import nn

from nets import Scripted, Staged, batch, plan, seeded
from tailormix import CutMix, ManifoldMixup, SKCutMix
from tailormix.batch import Batch, Draws, Plan, Pool
from tailormix.interpolation import CutBox, HiddenLayer, Identity, Linear

DRAWS = Draws(torch.device("cpu"), torch.Generator().manual_seed(0))
PLAN = Plan(torch.tensor([1, 0]), torch.tensor([0.75, 0.5]))
POINTS = torch.tensor([[0.0], [8.0]])


def test_linear_by_hand() -> None:
    mixed = Linear()(Batch(POINTS, torch.tensor([0, 1])), PLAN, DRAWS)
    assert mixed.x.tolist() == [[2.0], [4.0]]
    assert mixed.plan is PLAN
    assert mixed.place is None
    assert POINTS.tolist() == [[0.0], [8.0]]


def test_linear_with_a_pool_that_augments() -> None:
    """The pool's function is asked for rows 1 and 0 and answers 100·row: ¾·0 + ¼·100 and ½·8 + ½·0."""
    asked: list[list[int]] = []

    def fetch(index: torch.Tensor) -> torch.Tensor:
        asked.append(index.tolist())
        return 100.0 * index[:, None]

    batch = Batch(POINTS, torch.tensor([0, 1]), pool=Pool(fetch, torch.tensor([0, 1])))
    assert Linear()(batch, PLAN, DRAWS).x.tolist() == [[25.0], [4.0]]
    assert asked == [[1, 0]]


def test_identity() -> None:
    mixed = Identity()(Batch(POINTS, torch.tensor([0, 1])), PLAN, DRAWS)
    assert mixed.x is POINTS


CPU = torch.device("cpu")


def black_and_white(n: int, *shape: int) -> torch.Tensor:
    """Images of 0s and of 1s in turn, so that swapped neighbours tell who a pixel came from."""
    return (torch.arange(n) % 2).float().view(n, *(1,) * len(shape)).expand(n, *shape).contiguous()


def swap(n: int) -> list[int]:
    return [i ^ 1 for i in range(n)]


def pasted(mixed: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Which pixels came from the partner."""
    return mixed != x


def test_box_by_hand() -> None:
    """6 × 8 pixels, λ = 0.75: r = ½, h = ⌊3⌋ = 3, w = ⌊4⌋ = 4, so ±1 row and ±2 columns about the centre.

    Row centre ⌊6 · 0.5⌋ = 3: rows 2, 3 (h is odd: one row is lost). Column centre ⌊8 · 0.9⌋ = 7: columns 5 to
    9, of which 5, 6, 7 exist. The box has 2 · 3 of 48 pixels: λ becomes 1 - 6/48 = 0.875.
    """
    x = black_and_white(2, 1, 6, 8)
    mixed = CutBox()(batch(x, [0, 1]), plan([1, 0], 0.75), Scripted([0.5], [0.9]))
    expected = torch.zeros(6, 8, dtype=torch.bool)
    expected[2:4, 5:8] = True
    assert pasted(mixed.x, x)[0, 0].equal(expected)
    assert pasted(mixed.x, x)[1, 0].equal(expected)
    assert mixed.plan.lam.tolist() == [0.875, 0.875]
    assert mixed.targets(2).tolist() == [[0.875, 0.125], [0.125, 0.875]]


@pytest.mark.parametrize(
    ("width", "lam", "centre", "columns"),
    [
        (10, 0.75, 4, (2, 6)),  # ⌊10 · 0.5⌋ = 5 is odd: 4 columns
        (10, 0.64, 4, (1, 7)),  # ⌊10 · 0.6⌋ = 6 columns
        (10, 0.91, 4, (3, 5)),  # ⌊10 · 0.3⌋ = 3 is odd: 2 columns; √0.09 must not round to 0.29...
        (9, 0.0, 4, (0, 8)),  # all of 9 is odd: 8 columns, even for λ = 0
        (10, 0.0, 0, (0, 5)),  # clipped on the left
        (10, 0.0, 9, (4, 10)),  # clipped on the right
        (10, 0.995, 4, (4, 4)),  # ⌊10 · 0.0707⌋ = 0: no box
    ],
)
def test_columns_by_hand(width: int, lam: float, centre: int, columns: tuple[int, int]) -> None:
    x = black_and_white(2, 1, width, width)
    u = (centre + 0.5) / width
    mixed = CutBox()(batch(x, [0, 1]), plan([1, 0], lam), Scripted([u], [u]))
    found = pasted(mixed.x, x)[0, 0].any(0).nonzero().flatten().tolist()
    assert found == list(range(*columns))


@pytest.mark.parametrize("per", ["batch", "sample"])
@pytest.mark.parametrize("shape", [(3, 7, 5), (2, 3, 6, 9)])
def test_label_weight_is_the_share_of_pixels(per: str, shape: tuple[int, ...]) -> None:
    """Measured on the images themselves; also for volumes (channels, depth, H, W)."""
    x = black_and_white(12, *shape)
    component = CutBox(per)
    for seed in range(20):
        lam = torch.rand(12, generator=seeded(seed)).tolist()
        mixed = component(batch(x, torch.arange(12) % 2), plan(swap(12), lam), Draws(CPU, seeded(seed)))
        kept = 1 - pasted(mixed.x, x).flatten(1).double().mean(1)
        torch.testing.assert_close(mixed.plan.lam.double(), kept, rtol=0, atol=1e-6)
        own = mixed.targets(2).gather(1, (torch.arange(12) % 2)[:, None])[:, 0]
        torch.testing.assert_close(own.double(), kept, rtol=0, atol=1e-6)


def test_one_box_for_the_batch_or_one_for_each_pair() -> None:
    x = black_and_white(16, 1, 8, 8)
    data, half = batch(x, torch.arange(16) % 2), plan(swap(16), 0.5)
    shared = pasted(CutBox("batch")(data, half, Draws(CPU, seeded())).x, x)
    own = pasted(CutBox("sample")(data, half, Draws(CPU, seeded())).x, x)
    assert shared.equal(shared[:1].expand_as(shared))
    assert len(own.flatten(1).unique(dim=0)) > 8


def test_centre_is_uniform() -> None:
    """With sides of 2, the last pasted row and column are the centre itself, never clipped away."""
    n, size = 4000, 8
    x = black_and_white(n, 1, size, size)
    lam = 1 - (2.5 / size) ** 2
    mixed = CutBox("sample")(batch(x, torch.arange(n) % 2), plan(swap(n), lam), Draws(CPU, seeded()))
    box = pasted(mixed.x, x)[:, 0]
    index = torch.arange(size)
    row, column = ((box.any(axis) * index).amax(1) for axis in (2, 1))
    counts = torch.bincount(row * size + column, minlength=size * size)
    assert stats.chisquare(counts).pvalue > 1e-3


def test_probability_is_the_share_of_samples_with_a_box() -> None:
    n = 4000
    x = black_and_white(n, 1, 4, 4)
    component = CutBox("sample", probability=0.3)
    mixed = component(batch(x, torch.arange(n) % 2), plan(swap(n), 0.5), Draws(CPU, seeded()))
    boxed = int(pasted(mixed.x, x).flatten(1).any(1).sum())
    assert stats.binomtest(boxed, n, 0.3).pvalue > 1e-3
    assert ((mixed.plan.lam < 1).sum() == boxed).item()


@pytest.mark.parametrize("method", [CutMix(num_classes=2), SKCutMix(num_classes=2, space="input")])
def test_tabular_data_is_refused(method: object) -> None:
    with pytest.raises(ValueError, match=r"CutMix needs images \(n, channels, H, W\), got .* \(4, 6\)"):
        method(torch.rand(4, 6), torch.tensor([0, 1, 0, 1]))


def test_bad_settings_of_cut_box() -> None:
    with pytest.raises(ValueError, match="unknown per 'batches'; did you mean 'batch'"):
        CutBox("batches")
    with pytest.raises(ValueError, match="probability must lie in"):
        CutMix(probability=2)


def test_one_compiled_graph_may_cut_images_of_two_sizes() -> None:
    method = CutMix(num_classes=3)
    small, large, y = torch.rand(4, 1, 4, 6), torch.rand(4, 1, 8, 8), torch.tensor([0, 1, 2, 0])

    def both(first: torch.Tensor, second: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return method(first, y)[0], method(second, y)[0]

    compiled = torch.compile(both, backend="aot_eager", fullgraph=True)
    assert [tuple(x.shape) for x in compiled(small, large)] == [(4, 1, 4, 6), (4, 1, 8, 8)]


def test_coefficients_in_half_precision_or_with_a_gradient() -> None:
    x = black_and_white(2, 1, 224, 224)
    lam = torch.tensor([0.3, 0.9]).bfloat16().float()
    plans = [
        Plan(torch.tensor([1, 0]), given) for given in (lam, lam.bfloat16(), lam.clone().requires_grad_())
    ]
    draws = [Scripted([0.5, 0.9], [0.1, 0.7]) for _ in plans]
    mixed_batches = [
        CutBox("sample")(batch(x, [0, 1]), given, drawn) for given, drawn in zip(plans, draws, strict=True)
    ]
    assert all(
        torch.equal(mixed_batches[0].x, other.x) and not other.x.requires_grad for other in mixed_batches
    )


def test_images_that_carry_a_gradient_keep_it() -> None:
    x = torch.rand(4, 1, 6, 6, requires_grad=True)
    mixed, _ = SKCutMix(num_classes=2, space="input")(x, torch.tensor([0, 1, 0, 1]))
    mixed.sum().backward()
    assert x.grad is not None
    assert x.grad.sum().item() == pytest.approx(4 * 36)


X, Y = torch.randn(4, 4, generator=seeded()), torch.tensor([0, 1, 2, 0])
MIX = plan([1, 2, 3, 0], [0.9, 0.5, 0.2, 1.0])


def expected(model: Staged, after: str | None) -> torch.Tensor:
    """The loss, with the layers run one by one and the mixing written out."""

    def mixed(h: torch.Tensor) -> torch.Tensor:
        lam = MIX.lam.view(-1, 1)
        return lam * h + (1 - lam) * h[MIX.partner]

    h = mixed(X) if after is None else X
    for name in ("stem", "middle", "last", "head"):
        h = getattr(model, name)(h)
        h = mixed(h) if name == after else h
    return nn.functional.cross_entropy(h, mixed(nn.functional.one_hot(Y, 3).float()))


@pytest.mark.parametrize("layer", ["stem", "middle", "last", "head"])
def test_states_are_mixed_after_the_named_layer(layer: str) -> None:
    model = Staged()
    loss = ManifoldMixup(layers=(layer,), inputs=False).loss(model, X, Y, plan=MIX)
    torch.testing.assert_close(loss, expected(model, layer))
    loss.backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())


def test_a_nested_layer_by_its_full_name() -> None:
    model = Staged()
    loss = ManifoldMixup(layers=("middle.0",), inputs=False).loss(model, X, Y, plan=MIX)
    assert not torch.isclose(loss, expected(model, "middle"))
    assert loss.isfinite()


def test_at_the_input_it_is_mixup() -> None:
    model = Staged()
    torch.testing.assert_close(ManifoldMixup(layers=()).loss(model, X, Y, plan=MIX), expected(model, None))


def test_places_are_equally_likely() -> None:
    """By default the input and the second and third stage, as published: after the first two blocks."""
    component, model = HiddenLayer(), Staged()
    draws = torch.rand(3000, generator=seeded(), dtype=torch.float64).tolist()
    places = [component.place(model, position) for position in draws]
    counts = [places.count(name) for name in (None, "middle", "last")]
    assert sum(counts) == 3000
    assert stats.chisquare(counts).pvalue > 1e-3


def test_each_batch_draws_its_own_place(generator: torch.Generator) -> None:
    model, method = Staged(), ManifoldMixup()
    losses = {method.loss(model, X, Y, plan=MIX, generator=generator).item() for _ in range(40)}
    places = [expected(model, after).item() for after in (None, "middle", "last")]
    assert sorted(losses) == pytest.approx(sorted(places), rel=1e-5)


def test_a_model_with_two_stages_uses_both() -> None:
    model = Staged()
    model.stages = ("stem", "last")
    component = HiddenLayer(inputs=False)
    assert {component.place(model, 0.0), component.place(model, 0.99)} == {"stem", "last"}


def test_a_model_without_stages_needs_names() -> None:
    model = nn.Sequential(nn.Linear(4, 3))
    with pytest.raises(ValueError, match=r"Sequential does not name its stages: pass layers="):
        ManifoldMixup().loss(model, X, Y)
    assert ManifoldMixup(layers=("0",)).loss(model, X, Y).isfinite()


def test_unknown_names_list_the_closest() -> None:
    with pytest.raises(ValueError, match=r"unknown layer 'midle'; did you mean 'middle'\? Known: stem, "):
        ManifoldMixup(layers=("midle",), inputs=False).loss(Staged(), X, Y)


def test_a_shared_layer_would_mix_twice() -> None:
    shared = nn.Linear(4, 4)
    model = nn.Sequential(shared, nn.ReLU(), shared, nn.Linear(4, 3))
    with pytest.raises(ValueError, match="layer '0' must run exactly once in a forward pass, but ran 2"):
        ManifoldMixup(layers=("0",), inputs=False).loss(model, X, Y)
    assert not shared._forward_hooks


def test_a_layer_that_never_runs() -> None:
    model = Staged()
    model.spare = nn.Linear(2, 2)
    with pytest.raises(ValueError, match=r"layer 'spare' must run exactly once .* ran 0 times"):
        ManifoldMixup(layers=("spare",), inputs=False).loss(model, X, Y)


def test_a_layer_with_other_rows_or_no_tensor() -> None:
    merged = nn.Sequential(nn.Flatten(0), nn.Linear(16, 12), nn.Unflatten(0, (4, 3)))
    with pytest.raises(ValueError, match=r"layer '1' must see 4 rows, one per sample, but saw shape \(12,\)"):
        ManifoldMixup(layers=("1",), inputs=False).loss(merged, X, Y)
    with pytest.raises(TypeError, match="layer '0' must return a tensor to be mixed, got tuple"):
        ManifoldMixup(layers=("0",), inputs=False).loss(nn.Sequential(nn.LSTM(4, 3)), X, Y)


def test_bad_settings_of_hidden_layer() -> None:
    with pytest.raises(TypeError, match="layers must be a tuple of names, got the string 'stem'"):
        ManifoldMixup(layers="stem")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="layers must name at least one layer where inputs=False"):
        ManifoldMixup(layers=(), inputs=False)
    assert ManifoldMixup(layers=["stem"]) == ManifoldMixup(layers=("stem",))  # type: ignore[arg-type]


def test_an_unknown_layer_fails_at_the_first_call() -> None:
    for seed in range(5):
        with pytest.raises(ValueError, match=r"unknown layer 'midle'; did you mean 'middle'\?"):
            ManifoldMixup(layers=("stem", "midle")).loss(
                Staged(), torch.rand(4, 4), torch.tensor([0, 1, 2, 0]), generator=seeded(seed)
            )
