"""Many models at once: each member does what its own single run does."""

import copy
import dataclasses
from functools import partial

import pytest
import torch
from torch import nn
from torch.nn import functional

from tailormix import ERM, METHODS, Mixup, SKMixup, Step, build_method
from tailormix.losses import build as build_loss
from tailormix.models import build
from tailormix.training.joint_step import JointStep, NotStackable
from tailormix.training.optimisation import TrainingBatch

MEMBERS = 3
# The layer or the label density is drawn on the host, member by member.
ON_THE_HOST = {"manifold-mixup", "sk-manifold-mixup", "c-mixup"}


def steps_of(make, methods, criterion=None):
    models = []
    for k in range(len(methods)):
        torch.manual_seed(k)
        models.append(make())
    return [Step(model, method, criterion) for model, method in zip(models, methods, strict=True)]


def batches_of(x, y, first=0):
    return [TrainingBatch(x[k], y[k], seed=first + k) for k in range(len(x))]


def small_network():
    """A convolution with BatchNorm, and a stage by which methods may enter."""
    stage = nn.Sequential(nn.Conv2d(3, 4, 3, stride=2), nn.BatchNorm2d(4), nn.ReLU())
    model = nn.Sequential(
        stage, nn.Conv2d(4, 6, 3), nn.BatchNorm2d(6), nn.ReLU(), nn.Flatten(), nn.Linear(6, 4)
    )
    model.stages = ("0",)
    return model


def images(rows=8):
    generator = torch.Generator().manual_seed(0)
    return torch.rand(MEMBERS, rows, 3, 8, 8, generator=generator), torch.arange(rows).remainder(4).expand(
        MEMBERS, -1
    )


def assert_same_as_single_steps(steps, batches):
    singles = copy.deepcopy(steps)
    joint = JointStep(steps, trace_after=0)
    losses = joint.losses(batches)
    losses.sum().backward()
    for k, (step, single, batch, loss) in enumerate(zip(steps, singles, batches, losses, strict=True)):
        torch.manual_seed(batch.seed)
        expected = single(batch.x, batch.y, **batch.options)
        expected.backward()
        torch.testing.assert_close(loss, expected, atol=1e-5, rtol=1e-5)
        for stack, theirs in zip(joint.parameters.values(), single.parameters(), strict=True):
            torch.testing.assert_close(stack.grad[k], theirs.grad, atol=1e-5, rtol=1e-4)
        for mine, theirs in zip(step.buffers(), single.buffers(), strict=True):
            torch.testing.assert_close(mine, theirs)


@pytest.mark.filterwarnings("ignore:There is a performance drop")
@pytest.mark.parametrize("name", sorted(METHODS.keys() - ON_THE_HOST))
def test_losses_gradients_and_running_statistics_are_those_of_single_steps(name):
    options = {"counts": (1.0, 2.0, 3.0, 4.0)} if name == "remix" else {}
    method = build_method(name, num_classes=4, **options)
    x, y = images()
    steps = steps_of(small_network, [method] * MEMBERS)
    assert_same_as_single_steps(steps, batches_of(x, y))


def test_dropout_is_that_of_single_steps():
    x, y = torch.rand(MEMBERS, 8, 5), torch.rand(MEMBERS, 8, 1)
    steps = steps_of(lambda: build("fcn3"), [SKMixup()] * MEMBERS)
    assert_same_as_single_steps(steps, batches_of(x, y))


@pytest.mark.parametrize("loss", ["ls", "focal", "mmce", "mbls"])
def test_losses_of_the_library_can_be_vectorised(loss):
    x, y = images()
    steps = steps_of(small_network, [ERM()] * MEMBERS, build_loss(loss))
    assert_same_as_single_steps(steps, batches_of(x, y))


def test_the_history_of_a_criterion_is_that_of_single_steps():
    x, y = images()
    criteria = [build_loss("crl", size=8) for _ in range(MEMBERS)]
    steps = [
        Step(step.model, step.method, criterion)
        for step, criterion in zip(steps_of(small_network, [ERM()] * MEMBERS), criteria, strict=True)
    ]
    singles = copy.deepcopy(steps)
    joint = JointStep(steps, trace_after=1)
    for number in range(3):
        batches = [
            dataclasses.replace(batch, options={"ids": torch.arange(8)}) for batch in batches_of(x, y, number)
        ]
        losses = joint.losses(batches)
        for k, (single, batch) in enumerate(zip(singles, batches, strict=True)):
            torch.testing.assert_close(losses[k], single(batch.x, batch.y, **batch.options))
        for step, single in zip(steps, singles, strict=True):
            step.criterion.end_epoch()
            single.criterion.end_epoch()
            assert torch.equal(step.criterion.counts, single.criterion.counts)
    assert steps[0].criterion.counts.sum() > 0


@pytest.mark.parametrize("field", ["tau_max", "tau_std"])
def test_members_may_differ_in_numbers(field):
    x, y = images()
    methods = [SKMixup(**{field: value}) for value in (0.1, 0.5, 2.0)]
    steps = steps_of(small_network, methods)
    assert_same_as_single_steps(steps, batches_of(x, y))


def test_fifty_steps_end_where_single_runs_end():
    x, y = torch.rand(50, MEMBERS, 16, 5), torch.rand(50, MEMBERS, 16, 1)
    steps = steps_of(lambda: build("fcn3"), [SKMixup()] * MEMBERS)
    singles = copy.deepcopy(steps)
    joint = JointStep(steps, trace_after=20)
    optimiser = torch.optim.Adam(joint.parameters.values(), lr=0.01)
    for number in range(50):
        joint.losses(batches_of(x[number], y[number], first=100 * number)).sum().backward()
        optimiser.step()
        optimiser.zero_grad()
    for k, single in enumerate(singles):
        own = torch.optim.Adam(single.parameters(), lr=0.01)
        for number in range(50):
            torch.manual_seed(100 * number + k)
            own.zero_grad()
            single(x[number, k], y[number, k]).backward()
            own.step()
        for mine, theirs in zip(steps[k].parameters(), single.parameters(), strict=True):
            torch.testing.assert_close(mine, theirs, atol=1e-4, rtol=1e-4)


def test_members_of_one_seed_draw_the_same():
    x, y = torch.rand(8, 5), torch.rand(8, 1)
    joint = JointStep(steps_of(lambda: build("fcn3"), [Mixup()] * MEMBERS))
    for stack in joint.parameters.values():
        stack.data[:] = stack.data[0].clone()
    losses = joint.losses([TrainingBatch(x, y, seed) for seed in (0, 1, 0)])
    assert losses[0] == losses[2] != losses[1]


def test_traced_steps_are_the_steps_themselves_bit_by_bit():
    x, y = images()
    losses = {}
    for trace_after in (0, 99):
        joint = JointStep(steps_of(small_network, [SKMixup()] * MEMBERS), trace_after=trace_after)
        losses[trace_after] = [joint.losses(batches_of(x, y, first)).tolist() for first in range(3)]
    assert losses[0] == losses[99]


def test_a_smaller_last_batch_gets_its_own_draws():
    x, y = torch.rand(MEMBERS, 8, 5), torch.rand(MEMBERS, 8, 1)
    joint = JointStep(steps_of(lambda: build("fcn3"), [Mixup()] * MEMBERS), trace_after=0)
    assert joint.losses(batches_of(x, y)).shape == (MEMBERS,)
    assert joint.losses(batches_of(x[:, :3], y[:, :3])).shape == (MEMBERS,)


def test_a_strength_that_changes_is_seen_by_the_next_step():
    values = [torch.tensor(0.1 * (k + 1)) for k in range(MEMBERS)]
    base = Mixup(num_classes=4)
    methods = [
        dataclasses.replace(base, coefficients=dataclasses.replace(base.coefficients, alpha=value))
        for value in values
    ]
    x, y = images()
    joint = JointStep(steps_of(small_network, methods), trace_after=1)
    before = joint.losses(batches_of(x, y)).detach()
    values[1].fill_(8.0)
    after = joint.losses(batches_of(x, y)).detach()
    assert [bool(a == b) for a, b in zip(before, after, strict=True)] == [True, False, True]


def test_whole_numbers_are_numbers():
    x, y = images()
    steps = steps_of(small_network, [SKMixup(tau_max=value) for value in (1, 0.5, 2)])
    assert_same_as_single_steps(steps, batches_of(x, y))


def test_a_strength_of_zero_is_another_method():
    with pytest.raises(NotStackable, match="alpha = 0 is another method"):
        JointStep(steps_of(small_network, [Mixup(alpha=alpha) for alpha in (0.0, 0.5, 1.0)]))


def test_models_that_cannot_be_stacked_are_named():
    def sizes(hidden):
        return nn.Sequential(nn.Linear(2, hidden), nn.Linear(hidden, 3))

    with pytest.raises(NotStackable, match="module '0' differs"):
        JointStep([Step(sizes(4), ERM()), Step(sizes(5), ERM())])
    with pytest.raises(NotStackable, match="one recipe, but their coefficients differ"):
        JointStep([Step(sizes(4), Mixup()), Step(sizes(4), SKMixup())])
    with pytest.raises(NotStackable, match="numbers only, but their per differ"):
        JointStep([Step(sizes(4), Mixup(per="batch")), Step(sizes(4), Mixup(per="sample"))])
    with pytest.raises(NotStackable, match="must share their bandwidth"):
        JointStep(
            [Step(sizes(4), build_method("c-mixup", bandwidth=h, partners="batch")) for h in (0.1, 1.0)]
        )
    with pytest.raises(ValueError, match="at least one member"):
        JointStep([])


def weighted(weights):
    return partial(functional.cross_entropy, weight=weights)


def smoothed(logits, targets, alpha):
    return functional.cross_entropy(logits, targets, label_smoothing=alpha)


def pair(*criteria):
    return JointStep([Step(nn.Linear(2, 3), ERM(), criterion) for criterion in criteria])


@pytest.mark.parametrize(
    ("criteria", "told"),
    [
        ((build_loss("ls", alpha=0.05), build_loss("ls", alpha=0.2)), "alpha is 0.05 and 0.2"),
        ((build_loss("ls"), build_loss("focal")), r"criterion is LabelSmoothing\(\) and FocalLoss\(\)"),
        ((None, build_loss("ls")), r"criterion is None and LabelSmoothing\(\)"),
        ((build_loss("crl", size=8), build_loss("crl", size=9)), "size is 8 and 9"),
        ((nn.CrossEntropyLoss(torch.ones(3)), nn.CrossEntropyLoss()), "tensors is"),
        ((nn.Sequential(nn.Dropout(0.1)), nn.Sequential(nn.Dropout(0.2))), "p is 0.1 and 0.2"),
        ((partial(smoothed, alpha=0.1), partial(smoothed, alpha=0.2)), "alpha is 0.1 and 0.2"),
        ((weighted(torch.ones(3)), weighted(torch.arange(3.0))), "weight differs"),
        ((functional.cross_entropy, smoothed), "criterion is"),
    ],
)
def test_criteria_or_options_of_a_loss_that_differ_are_refused(criteria, told):
    """At the first step a smoothed loss is about log C, whatever is smoothed: comparing tells nothing."""
    with pytest.raises(
        NotStackable, match=f"same loss, with the same options, but of members 0 and 1 .*{told}"
    ):
        pair(*criteria)


@pytest.mark.parametrize(
    "make",
    [
        lambda: None,
        lambda: build_loss("mmce", weight=2.0),
        lambda: nn.CrossEntropyLoss(torch.ones(3)),
        lambda: partial(smoothed, alpha=0.1),
        lambda: weighted(torch.ones(3)),
    ],
)
def test_criteria_made_alike_are_one_loss(make):
    x, y = torch.rand(2, 4, 2), torch.arange(4).remainder(3).expand(2, -1)
    steps = [Step(nn.Linear(2, 3), ERM(), make()) for _ in range(2)]
    assert_same_as_single_steps(steps, batches_of(x, y))


class Noisy(nn.Linear):
    def forward(self, x):
        return super().forward(x) + torch.randn(len(x), 1)


def test_other_random_numbers_are_refused():
    joint = JointStep(steps_of(lambda: Noisy(2, 3), [ERM()] * 2))
    x, y = torch.rand(2, 4, 2), torch.zeros(2, 4, dtype=torch.int64)
    with pytest.raises(NotStackable, match=r"torch\.rand, torch\.randint and dropout only"):
        joint.losses(batches_of(x, y))
