"""Methods: the dictionary, the pool, embeddings in a step, plans handed over."""

import dataclasses
import functools

import pytest
import torch

import tailormix
from helpers import Counting, run_python
from tailormix import ERM, METHODS, Method, Mixup, Plan, SKMixup, Step, build_method
from tailormix.methods import Entry

X, Y = torch.rand(8, 6), torch.arange(8) % 3


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_dictionary_and_public_names_agree() -> None:
    for name, entry in METHODS.items():
        assert isinstance(entry, Entry)
        assert getattr(tailormix, entry.build.__name__) is entry.build
        assert isinstance(build_method(name), Method)
        assert entry.summary
        assert entry.section
        assert entry.passes
    assert set(tailormix.__all__) <= set(dir(tailormix))
    assert all(getattr(tailormix, name) is not None for name in tailormix.__all__)


def test_unknown_names_get_the_closest() -> None:
    with pytest.raises(ValueError, match=r"unknown method 'skmixup'; did you mean 'sk-mixup'\? Known: erm, "):
        build_method("skmixup")
    with pytest.raises(ValueError, match=r"unknown setting of sk-mixup 'tau_sdt'; did you mean 'tau_std'\?"):
        build_method("sk-mixup", tau_sdt=0.2)


def test_methods_do_not_change() -> None:
    method = SKMixup()
    with pytest.raises(dataclasses.FrozenInstanceError):
        method.num_classes = 3  # type: ignore[misc]
    assert SKMixup(tau_std=0.5) == SKMixup(tau_std=0.5)
    assert SKMixup(tau_std=0.5) != SKMixup(tau_std=0.4)


@pytest.mark.parametrize(
    ("method", "passes"),
    [(ERM(), 1), (Mixup(), 1), (SKMixup(), 2), (SKMixup(space="input"), 1), (SKMixup(num_classes=3), 2)],
)
def test_forward_passes_of_a_step(method: Method, passes: int) -> None:
    model = Counting()
    method.loss(model, X, Y)
    assert model.passes == passes


def test_no_pass_for_embeddings_that_are_not_needed() -> None:
    model = Counting()
    SKMixup().loss(model, X, Y, embeddings=torch.rand(8, 2))
    SKMixup().loss(model, X, Y, plan=Plan(torch.arange(8), torch.ones(8)))
    SKMixup().loss(Counting(outputs=1), X, torch.rand(8, 1))
    assert model.passes == 2
    real = Counting(outputs=1)
    SKMixup().loss(real, X, torch.rand(8, 1))  # distances between labels
    assert real.passes == 1


def test_a_plan_is_carried_out() -> None:
    model, method = Counting(), SKMixup(num_classes=3)
    h = torch.rand(8, 4)
    plan = method.plan(X, Y, h, generator=seeded())
    expected = method.loss(model, X, Y, embeddings=h, generator=seeded())
    assert method.loss(model, X, Y, plan=plan).item() == expected.item()


def test_the_generator_is_used_up_in_order() -> None:
    generator = seeded()
    first, second = (Mixup(num_classes=3)(X, Y, generator=generator)[0] for _ in range(2))
    assert not torch.equal(first, second)


def test_missing_embeddings_are_asked_for() -> None:
    with pytest.raises(ValueError, match=r"embeddings are needed by space='embedding' .* pass embeddings="):
        SKMixup(num_classes=3)(X, Y)
    with pytest.raises(ValueError, match="embeddings are needed"):
        SKMixup().plan(X, Y)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_embeddings_must_be_finite(value: float) -> None:
    h = torch.rand(8, 2)
    h[5, 0] = value
    with pytest.raises(ValueError, match=r"embeddings .* must be finite"):
        SKMixup(num_classes=3)(X, Y, h)
    with pytest.raises(ValueError, match=r"embeddings .* must be finite"):
        SKMixup().loss(Counting(), X, Y, embeddings=h)


def test_partners_from_the_pool() -> None:
    method = Mixup(partners="pool", num_classes=3)
    with pytest.raises(ValueError, match=r"partners come from the pool, but there is none: call fit\(x, y\)"):
        method(X, Y)
    pool = torch.full((5, 6), 7.0), torch.full((5,), 2)
    fitted = method.fit(*pool)
    assert method.pool is None
    mixed, soft = fitted(X, Y, generator=seeded())
    lam = fitted.plan(X, Y, generator=seeded()).lam[0]
    torch.testing.assert_close(mixed, lam * X + (1 - lam) * 7.0)
    torch.testing.assert_close(soft[:, 2], torch.where(Y == 2, 1.0, 1 - lam))
    assert bool((pool[0] == 7).all())  # nothing is written over
    with pytest.raises(ValueError, match="weight cannot be given with partners from the pool"):
        fitted.loss(Counting(), X, Y, weight=torch.ones(8))


def test_pools_must_be_whole() -> None:
    with pytest.raises(ValueError, match=r"x and y must have one length, got shapes \(5, 6\) and \(4,\)"):
        Mixup(partners="pool").fit(torch.rand(5, 6), torch.zeros(4))


def test_pooled_partners_have_no_embeddings() -> None:
    with pytest.raises(ValueError, match="partners from the pool have no embeddings"):
        SKMixup(partners="pool", space="embedding")
    with pytest.raises(ValueError, match="partners from the pool have no embeddings"):
        SKMixup(partners="pool").fit(X, Y).loss(Counting(), X, Y)


def test_step_keeps_options_and_criterion() -> None:
    model = Counting()
    step = Step(model, Mixup(), torch.nn.CrossEntropyLoss(label_smoothing=0.1))
    plan = Plan(torch.arange(8), torch.ones(8))
    expected = torch.nn.functional.cross_entropy(model(X), Y, label_smoothing=0.1)
    torch.testing.assert_close(step(X, Y, plan=plan), expected)
    step(X, Y).backward()
    assert all(p.grad is not None for p in model.parameters())
    assert [name.split(".")[0] for name in step.state_dict()] == ["model"] * 4


def test_criteria_that_look_empty_are_used() -> None:
    class Empty(torch.nn.Module):
        def __len__(self) -> int:
            return 0

        def forward(self, predictions: torch.Tensor, _: torch.Tensor) -> torch.Tensor:
            return predictions.sum() * 0 + 42

    assert Mixup().loss(Counting(), X, Y, Empty()).item() == 42


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_training_under_autocast(dtype: torch.dtype) -> None:
    model = Counting()
    with torch.autocast("cpu", dtype=dtype):
        loss = SKMixup().loss(model, X, Y)
    loss.backward()
    assert loss.isfinite()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())


def test_first_use_in_inference_mode_spoils_nothing() -> None:
    code = """
import torch
with torch.inference_mode():
    from tailormix import warp
    warp(torch.rand(3), 2.0), warp(torch.rand(3).double(), 2.0)
for dtype in (torch.float32, torch.float64):
    u = torch.rand(3, dtype=dtype, requires_grad=True)
    warp(u, 2.0).sum().backward()
    assert bool((u.grad > 0).all())
"""
    run_python(code)


def test_default_device_does_not_matter() -> None:
    expected = Mixup(0.5, num_classes=3)(X, Y, generator=seeded())
    with torch.device("meta"):
        got = Mixup(0.5, num_classes=3)(X, Y, generator=seeded())
    assert torch.equal(got[0], expected[0])
    assert torch.equal(got[1], expected[1])


@pytest.mark.parametrize(
    "name", ["sk-mixup", "sk-regmixup", "sk-manifold-mixup", "quantile-mixup", "two-beta"]
)
@pytest.mark.parametrize("needed", [True, False])
def test_an_unknown_embedding_layer_fails_at_the_first_call(name: str, needed: bool) -> None:
    """Also where no embeddings are needed, which would hide it until they are."""
    method = build_method(name, embedding_layer="haed", space="embedding" if needed else "input")
    with pytest.raises(ValueError, match=r"unknown layer 'haed'; did you mean 'head'\?"):
        method.loss(Counting(), X, Y)


def test_plans_for_another_batch_are_refused() -> None:
    """A negative partner would be counted from the end where the inputs are in channels-last."""
    with pytest.raises(ValueError, match="partner must hold indices >= 0, got -1"):
        Plan(torch.tensor([-1, 0]), torch.ones(2))
    with pytest.raises(
        TypeError, match=r"partner must hold indices \(torch.int64\), got dtype torch.float32"
    ):
        Plan(torch.ones(2), torch.ones(2))
    plan = Plan(torch.arange(1, 9), torch.ones(8))
    for carry_out in (Mixup(num_classes=3), functools.partial(Mixup().loss, Counting())):
        with pytest.raises(ValueError, match=r"partner must lie in 0\.\.7, got 8"):
            carry_out(X, Y, plan=plan)
    pooled = Mixup(partners="pool", num_classes=3).fit(torch.rand(9, 6), torch.zeros(9).long())
    assert pooled(X, Y, plan=plan)[0].shape == X.shape


UNSIGNED = (torch.uint8, torch.uint16, torch.uint32, torch.uint64)


@pytest.mark.parametrize("dtype", [*UNSIGNED, torch.int8, torch.int32])
@pytest.mark.parametrize("name", ["erm", "mixup", "sk-mixup", "regmixup", "rankmixup", "mit-l", "remix"])
def test_labels_of_any_integer_type(name: str, dtype: torch.dtype) -> None:
    model, y = Counting(), Y.to(dtype)
    losses = [build_method(name).fit(X, y).loss(model, X, y, generator=seeded()) for y in (Y, y)]
    assert losses[0].item() == losses[1].item()


@pytest.mark.parametrize("dtype", UNSIGNED)
def test_labels_of_a_pool_of_any_integer_type(dtype: torch.dtype) -> None:
    fitted = [
        Mixup(partners="pool", num_classes=3).fit(X, y)(X, Y, generator=seeded()) for y in (Y, Y.to(dtype))
    ]
    torch.testing.assert_close(*fitted)
    with pytest.raises(ValueError, match=r"y must lie in 0\.\.2 \(num_classes=3\), got 0\.\.7"):
        Mixup(partners="pool", num_classes=3).fit(X, torch.arange(8).to(dtype))


def test_tokens_are_not_taken_for_images() -> None:
    model = torch.nn.Sequential(torch.nn.Embedding(9, 4), torch.nn.Flatten(), torch.nn.Linear(20, 3))
    with pytest.raises(TypeError, match=r"got dtype torch.int64: for tokens, pass their embeddings"):
        SKMixup().loss(model, torch.randint(9, (8, 5)), Y)
