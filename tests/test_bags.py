"""Blending in one pass: the same numbers as in two, and only where one pass is the better way."""

from dataclasses import replace

import pytest
import torch
from torch.autograd import forward_ad

from tailormix import METHODS, Mixup, Plan, SKMixup, bags, build_method
from tailormix.bags import blend, pieces
from tailormix.batch import Batch
from tailormix.interpolation import Linear

NAMES = [name for name in METHODS if build_method(name).batch_form and name != "c-mixup"]  # no classes
PLAN = Plan(torch.tensor([3, 2, 1, 0]), torch.tensor([0.0, 1.0, 0.3, 0.25]))


@pytest.fixture
def caches_of_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every tensor counts as too large for the caches."""
    monkeypatch.setattr(bags, "LARGE", 0)
    monkeypatch.setattr(bags, "LONG", 0)


@pytest.mark.usefixtures("caches_of_nothing")
@pytest.mark.parametrize("shape", [(4,), (4, 3), (4, 3, 6, 6)])
def test_one_pass_over_a_large_tensor_blends_the_same(shape: tuple[int, ...]) -> None:
    a = torch.rand(shape)
    before = a.clone()
    got = PLAN.blend(a)
    lam = PLAN.lam.view(-1, *(1,) * (a.dim() - 1))
    torch.testing.assert_close(got, lam * a + (1 - lam) * a[PLAN.partner])
    assert torch.equal(a, before)
    assert torch.equal(got[0], a[3])
    assert torch.equal(got[1], a[1])


@pytest.mark.usefixtures("caches_of_nothing")
def test_one_pass_is_for_plain_tensors_alone() -> None:
    """Gradients, other precisions and other memory formats take the general way, and come out as before."""
    plan = Plan(torch.tensor([1, 0]), torch.tensor([0.75, 0.5]))
    a = torch.tensor([[0.0], [8.0]], requires_grad=True)
    plan.blend(a).sum().backward()
    assert a.grad is not None
    assert a.grad.tolist() == [[1.25], [0.75]]
    assert plan.blend(a.detach().half()).dtype == torch.half
    images = torch.rand(2, 3, 5, 5).to(memory_format=torch.channels_last)
    assert plan.blend(images).is_contiguous(memory_format=torch.channels_last)
    assert plan.blend(torch.nn.Parameter(torch.rand(2, 3), requires_grad=False)).shape == (2, 3)


@pytest.mark.usefixtures("caches_of_nothing")
def test_transforms_of_functions_take_the_general_way() -> None:
    """Torch's bags know no forward derivatives."""
    plan = Plan(torch.tensor([1, 0]), torch.tensor([0.75, 0.5]))
    a = torch.tensor([[0.0], [8.0]])
    value, slope = torch.func.jvp(plan.blend, (a,), (torch.ones_like(a),))
    assert value.tolist() == [[2.0], [4.0]]
    assert slope.tolist() == [[1.0], [1.0]]


@pytest.mark.usefixtures("caches_of_nothing")
def test_forward_derivatives_take_the_general_way() -> None:
    plan = Plan(torch.tensor([1, 0]), torch.tensor([0.75, 0.5]))
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(torch.tensor([[0.0], [8.0]]), torch.ones(2, 1))
        value, slope = forward_ad.unpack_dual(plan.blend(dual))
        assert value.tolist() == [[2.0], [4.0]]
        assert slope is not None
        assert slope.tolist() == [[1.0], [1.0]]
        x, _ = SKMixup(num_classes=2, space="input")(dual, torch.tensor([0, 1]))
        assert forward_ad.unpack_dual(x).tangent is not None


@pytest.mark.usefixtures("caches_of_nothing")
def test_labels_follow_the_plan_of_the_mix() -> None:
    """Whoever corrects the coefficients of a mixed batch gets the targets of the corrected plan."""
    batch = Batch(torch.rand(4, 5), torch.tensor([0, 1, 2, 3]), 4)
    mixed = Linear()(batch, PLAN, None)  # type: ignore[arg-type]
    corrected = replace(mixed, plan=Plan(PLAN.partner, torch.full((4,), 0.5)))
    assert corrected.targets().tolist() == [
        [0.5, 0, 0, 0.5],
        [0, 0.5, 0.5, 0],
        [0, 0.5, 0.5, 0],
        [0.5, 0, 0, 0.5],
    ]


@pytest.mark.parametrize("name", ["regmixup", "rankmixup", "rankmixup-mrl"])
@pytest.mark.parametrize("width", [64, 3072])
def test_gradients_of_coefficients(name: str, width: int) -> None:
    x, y = torch.rand(128, width), torch.arange(128) % 3
    lam = torch.rand(128, requires_grad=True)
    plan = Plan(torch.randperm(128), lam)
    build_method(name, num_classes=3).loss(torch.nn.Linear(width, 3), x, y, plan=plan).backward()
    assert lam.grad is not None
    assert lam.grad.abs().max() > 0


@pytest.mark.parametrize("length", [3 * 2**10, 2**13, 10007])
def test_large_batches_take_one_pass(length: int) -> None:
    """Of whole rows, of rows that are cut into pieces, and of one that cannot be: its length is a prime."""
    generator = torch.Generator().manual_seed(0)
    a, lam = torch.rand(128, length, generator=generator), torch.rand(128, generator=generator)
    plan = Plan(torch.randperm(128, generator=generator), lam)
    with torch.device("meta"):  # which concerns new tensors of the user's
        found = blend(a, plan.partner, lam)
    assert found is not None
    expected = torch.lerp(a[plan.partner], a, lam[:, None])
    torch.testing.assert_close(found[0], expected)
    torch.testing.assert_close(plan.blend(a), expected)
    assert (found[1] is None) == (pieces(length) > 1)
    torch.testing.assert_close(blend(a, plan.partner, lam.double())[0], expected)  # type: ignore[index]


@pytest.mark.parametrize("clean", [False, True])
@pytest.mark.parametrize("length", [3 * 2**10, 2**13])
def test_several_blends_below_each_other(length: int, clean: bool) -> None:
    generator = torch.Generator().manual_seed(0)
    a = torch.rand(128, length, generator=generator)
    pairs = [(torch.randperm(128, generator=generator), torch.rand(128, generator=generator)) for _ in "abc"]
    pairs[2] = pairs[2][0], pairs[2][1].double()
    found = blend(a, *pairs[0], pairs[1:], clean)
    assert found is not None
    expected = [torch.lerp(a[partner], a, lam.float()[:, None]) for partner, lam in pairs]
    torch.testing.assert_close(found[0], torch.cat([a] * clean + expected))


def test_small_batches_and_short_rows_take_two() -> None:
    partner, lam = torch.arange(2**9), torch.ones(2**9)
    assert blend(torch.rand(2**9, 2**11), partner, lam) is not None
    assert blend(torch.rand(2**9, 2**11 - 1), partner, lam) is None
    assert blend(torch.rand(2**6, 2**11), partner[: 2**6], lam[: 2**6]) is None


@pytest.mark.parametrize("length", [1, 1024, 3072, 3073, 4096, 12288, 150528, 10007, 2 * 10007])
def test_pieces_are_equal_and_not_long(length: int) -> None:
    k = pieces(length)
    assert length % k == 0
    assert length // k <= bags.PIECE or length % 10007 == 0


@pytest.mark.usefixtures("caches_of_nothing")
@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.uint8])
@pytest.mark.parametrize("classes", [3, 600])
def test_labels_are_blended_in_the_same_bags(dtype: torch.dtype, classes: int) -> None:
    """Where they are kept apart, by both ways; rows of one class have exactly one entry, of 1."""
    y = torch.tensor([0, 2, 2, 1]).to(dtype)
    mixed = Linear()(Batch(torch.rand(4, 5), y, classes), PLAN, None)  # type: ignore[arg-type]
    assert mixed.bags is not None
    assert mixed.bags[1] is not None
    got = mixed.targets()
    torch.testing.assert_close(got, PLAN.blend_labels(y, classes), rtol=0, atol=6e-8)
    assert got[1].tolist() == got[2].tolist() == [float(c == 2) for c in range(classes)]


@pytest.mark.usefixtures("caches_of_nothing")
def test_labels_with_coefficients_of_their_own() -> None:
    plan = Plan(PLAN.partner, PLAN.lam, torch.tensor([1.0, 1.0, 0.5, 0.0]))
    batch = Batch(torch.rand(4, 5), torch.tensor([0, 1, 2, 3]), 4)
    got = Linear()(batch, plan, None).targets()  # type: ignore[arg-type]
    assert got.tolist() == [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0.5, 0.5, 0], [1, 0, 0, 0]]


@pytest.mark.usefixtures("caches_of_nothing")
def test_labels_in_the_default_precision() -> None:
    x, y = torch.rand(4, 5), torch.tensor([0, 1, 2, 0])
    torch.set_default_dtype(torch.float64)
    try:
        assert Mixup(num_classes=3)(x, y)[1].dtype == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.usefixtures("caches_of_nothing")
@pytest.mark.parametrize("label", [3, -1])
def test_labels_out_of_range(label: int) -> None:
    x, h = torch.rand(4, 5), torch.rand(4, 2)
    with pytest.raises(ValueError, match=r"y must lie in 0\.\.2 \(num_classes=3\), got"):
        SKMixup(num_classes=3)(x, torch.tensor([0, 1, 2, label]), embeddings=h)


@pytest.mark.parametrize("name", ["regmixup", "sk-regmixup", "rankmixup", "rankmixup-mrl", "mit-l", "mit-a"])
def test_objectives_of_several_batches(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    source = torch.Generator().manual_seed(0)
    x, h = torch.rand(6, 3, 4, 4, generator=source), torch.rand(6, 5, generator=source)
    model, y = (
        torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(48, 3)),
        torch.tensor([0, 1, 2, 0, 1, 2]),
    )
    settings = {"layers": ("0",)} if name == "mit-a" else {}
    method = build_method(name, num_classes=3, **settings)
    two = method.loss(model, x, y, embeddings=h, generator=torch.Generator().manual_seed(1))
    monkeypatch.setattr(bags, "LARGE", 0)
    monkeypatch.setattr(bags, "LONG", 0)
    one = method.loss(model, x, y, embeddings=h, generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close(one, two)


@pytest.mark.parametrize("name", NAMES)
def test_every_method_mixes_large_batches_as_small_ones(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One seed gives one result, up to rounding, in one pass or in two."""
    source = torch.Generator().manual_seed(0)
    x, h = torch.rand(6, 3, 4, 4, generator=source), torch.rand(6, 5, generator=source)
    y = torch.tensor([0, 1, 2, 0, 1, 2])
    method = build_method(name, num_classes=3).fit(x, y)
    two = method(x, y, embeddings=h, generator=torch.Generator().manual_seed(1))
    monkeypatch.setattr(bags, "LARGE", 0)
    monkeypatch.setattr(bags, "LONG", 0)
    one = method(x, y, embeddings=h, generator=torch.Generator().manual_seed(1))
    for got, expected in zip(one, two, strict=True):
        torch.testing.assert_close(got, expected)
