"""What every ``.loss`` promises, for every named method."""

import random
import re
from typing import Any

import numpy as np
import pytest
import torch

from contract.cases import (
    ALL,
    BATCH_FORM,
    CASES,
    CLASSES,
    INPUTS,
    LOSS_A_SAMPLE,
    MIXING,
    TARGETS,
    Case,
    Model,
    data,
    kinds,
    seeded,
)
from tailormix import Plan, Step
from tailormix.objectives.mixed import cross_entropy, squared_error

every = pytest.mark.parametrize("case", CASES, ids=str)


@pytest.mark.parametrize("targets", TARGETS)
@pytest.mark.parametrize("case", ALL, ids=str)
def test_a_step_for_everybody(case: Case, targets: str) -> None:
    for inputs in INPUTS:
        for n in (2, 3, 32):
            x, y, _ = data(n, inputs, targets)
            model = Model(inputs, targets)
            if not case.takes(targets, inputs):
                with pytest.raises((ValueError, TypeError)):
                    case.method(targets, inputs).loss(model, x, y)
                continue
            loss = case.method(targets, inputs).loss(model, x, y, generator=seeded())
            loss.backward()
            assert loss.shape == ()
            assert loss.isfinite()
            assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())


@every
def test_one_sample(case: Case) -> None:
    x, y, _ = data(1)
    assert case.method().loss(Model(), x, y).isfinite()


@every
def test_one_seed_one_loss_and_no_state_touched(case: Case) -> None:
    x, y, _ = data(12)
    method, model = case.method(), Model()
    python, numpy, torchs = random.getstate(), np.random.get_state(), torch.random.get_rng_state()  # noqa: NPY002
    losses = [method.loss(model, x, y, generator=seeded(3)).item() for _ in range(2)]
    assert losses[0] == losses[1]
    assert torch.equal(torch.random.get_rng_state(), torchs)
    method.loss(model, x, y)
    assert random.getstate() == python
    now = np.random.get_state()  # noqa: NPY002
    assert all(np.array_equal(a, b) for a, b in zip(now, numpy, strict=True))


@every
def test_classes_are_read_off_the_logits(case: Case) -> None:
    """Without num_classes the loss is the same: class indices say that it is classification."""
    x, y, _ = data(12)
    model = Model()
    known, unknown = case.method(), case.method("real")
    if unknown.pairs.source == "pool":
        unknown = unknown.fit(known.pool.x, known.pool.y)  # type: ignore[union-attr]
    expected = known.loss(model, x, y, generator=seeded())
    assert unknown.loss(model, x, y, generator=seeded()).item() == expected.item()


@pytest.mark.parametrize(("case", "targets"), kinds(BATCH_FORM, ("indices", "soft", "column")), ids=str)
def test_the_loss_is_the_criterion_of_the_batch_form(case: Case, targets: str) -> None:
    x, y, h = data(12, "images", targets)
    method, model = case.method(targets), Model("images", targets)
    mixed, soft = method(x, y, h, generator=seeded())
    criterion = squared_error if targets == "column" else cross_entropy
    expected = criterion(model(mixed), soft).mean()
    torch.testing.assert_close(method.loss(model, x, y, embeddings=h, generator=seeded()), expected)


@every
def test_embeddings_are_measured_once_at_most(case: Case) -> None:
    x, y, h = data(8)
    method, measured, given = case.method(), Model(), Model()
    method.loss(measured, x, y)
    method.loss(given, x, y, embeddings=h)
    assert given.passes <= measured.passes <= given.passes + 1


@every
def test_a_scalar_criterion(case: Case) -> None:
    x, y, _ = data(12)
    criterion = torch.nn.CrossEntropyLoss()
    model, method = Model(), case.method()
    if case.name in LOSS_A_SAMPLE:
        with pytest.raises(ValueError, match="one loss per sample"):
            method.loss(model, x, y, criterion)
        return
    expected = method.loss(model, x, y, generator=seeded())
    torch.testing.assert_close(method.loss(model, x, y, criterion, generator=seeded()), expected)


@every
def test_step_is_the_loss_as_a_module(case: Case) -> None:
    x, y, _ = data(12)
    model, method = Model(), case.method()
    step = Step(model, method)
    assert step(x, y, generator=seeded()).item() == method.loss(model, x, y, generator=seeded()).item()
    assert {id(p) for p in step.parameters()} == {id(p) for p in model.parameters()}


BAD: dict[str, tuple[type[Exception], str, dict[str, Any]]] = {
    "different lengths": (
        ValueError,
        r"y must have 4 rows like x, got shape \(3,\)",
        {"y": torch.tensor([0, 1, 2])},
    ),
    "integer images": (
        TypeError,
        "x must be floating point, got dtype torch.uint8: convert images",
        {"x": torch.zeros(4, 6, dtype=torch.uint8)},
    ),
    "no samples": (
        ValueError,
        r"x must hold at least one sample, got shape \(0, 6\)",
        {"x": torch.zeros(0, 6)},
    ),
    "a list": (TypeError, "y must be a tensor, got list", {"y": [0, 1, 2, 0]}),
    "an array": (TypeError, "x must be a tensor, got ndarray", {"x": np.zeros((4, 6), dtype=np.float32)}),
    "a label beyond": (
        ValueError,
        r"y must lie in 0..2 \(num_classes=3\), got 0..3",
        {"y": torch.tensor([0, 3, 1, 0])},
    ),
    "a label below": (ValueError, r"y must lie in 0..2 .*, got -1..1", {"y": torch.tensor([0, -1, 1, 0])}),
    "index matrix": (
        ValueError,
        r"class indices must have shape \(n,\), got \(4, 1\)",
        {"y": torch.ones(4, 1).long()},
    ),
    "soft rows too wide": (
        ValueError,
        r"soft targets must have shape \(4, 3\), got \(4, 5\)",
        {"y": torch.rand(4, 5)},
    ),
    "float labels": (ValueError, r"soft targets must have shape \(4, 3\), got \(4,\)", {"y": torch.rand(4)}),
    "few embeddings": (
        ValueError,
        r"embeddings must have 4 rows like x, got shape \(5, 2\)",
        {"embeddings": torch.rand(5, 2)},
    ),
    "embeddings of lists": (TypeError, "embeddings must be a tensor, got list", {"embeddings": [[1.0]] * 4}),
}


@every
def test_bad_input_is_refused_in_all_three_forms(case: Case) -> None:
    x, y, h = data(4)
    method, model = case.method(), Model()
    for error, message, change in BAD.values():
        arguments = {"x": x, "y": y, "embeddings": h, **change}
        with pytest.raises(error, match=message):
            method.plan(**arguments)
        with pytest.raises(error, match=message):
            method.loss(model, **arguments)
        if method.batch_form:
            with pytest.raises(error, match=message):
                method(**arguments)
    assert model.passes == 0


@every
def test_one_weight_and_one_id_a_sample(case: Case) -> None:
    x, y, _ = data(4)
    for name in ("weight", "ids"):
        for shape in ((3,), (4, 1), ()):
            with pytest.raises(ValueError, match=f"{name} must have"):
                case.method().loss(Model(), x, y, **{name: torch.ones(shape)})


@every
def test_labels_beyond_the_logits(case: Case) -> None:
    x, _, _ = data(4)
    method = case.method("real")
    if method.pairs.source == "pool":
        method = method.fit(x, torch.zeros(4).long())
    with pytest.raises(
        ValueError, match=r"y must lie in 0..2 .*, got 0..7|counts must hold every class, got 3 for class 7"
    ):
        method.loss(Model(), x, torch.tensor([0, 7, 1, 2]))


@every
def test_models_and_criteria_that_do_not_fit(case: Case) -> None:
    x, y, _ = data(4)
    method = case.method()
    with pytest.raises(TypeError, match=r"model must be an nn.Module, got function"):
        method.loss(lambda x: x, x, y)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=f"the model returns 4 logits, but num_classes is {CLASSES}"):
        method.loss(Model(targets="vectors"), x, y)
    with pytest.raises(ValueError, match=r"criterion must return a scalar or . losses, got shape \(1,\)"):
        method.loss(Model(), x, y, lambda predictions, _: predictions[:1, 0])


@pytest.mark.parametrize("case", MIXING, ids=str)
def test_plans_of_the_wrong_length(case: Case) -> None:
    x, y, _ = data(4)
    for rows in (0, 5):
        plan = Plan(torch.zeros(rows, dtype=torch.long), torch.ones(rows))
        with pytest.raises(ValueError, match=re.escape(f"plan must have 4 rows like x, got {rows}")):
            case.method().loss(Model(), x, y, plan=plan)
