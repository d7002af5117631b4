"""Embeddings of any model: what is caught, what is left alone, and what is refused."""

import copy
import gc
import weakref

import pytest
import torch
from torch import Tensor, nn

from helpers import Counting, conv_net
from tailormix import SKMixup, embed
from tailormix.embeddings import FEATURES_LAST, embedding_layers, rewrite_output, unwrap


def hooks(model: nn.Module) -> int:
    return sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in model.modules())


def test_the_input_of_the_last_linear_layer() -> None:
    model = Counting()
    x = torch.rand(5, 6)
    got = embed(model, x)
    torch.testing.assert_close(got, model.body(x).detach())
    assert model.passes == 1
    assert not got.requires_grad


def test_a_named_layer() -> None:
    model = Counting()
    x = torch.rand(5, 6)
    assert torch.equal(embed(model, x, "body.0"), x)
    assert SKMixup(embedding_layer="body.0").loss(model, x, torch.tensor([0, 1, 2, 0, 1])).isfinite()


def test_a_model_may_declare_its_layer() -> None:
    model = Counting()
    model.embedding_layer = "body.0"
    x = torch.rand(5, 6)
    assert torch.equal(embed(model, x), x)
    torch.testing.assert_close(embed(model, x, "head"), model.body(x).detach())


@pytest.mark.parametrize("declared", [True, False])
def test_a_model_may_declare_that_it_takes_any_memory_format(declared: bool) -> None:
    """The order of memory changes nothing but the time; other models may reshape what comes."""
    model, seen = conv_net(), []
    model.any_memory_format = declared
    model[0].register_forward_pre_hook(lambda _, arguments: seen.append(arguments[0]))
    x = torch.rand(5, 3, 8, 8)
    got = embed(model, x)
    assert seen[0].is_contiguous(memory_format=torch.channels_last) is declared
    assert x.is_contiguous()
    torch.testing.assert_close(got, embed(model, x.contiguous(memory_format=torch.channels_last)))


def test_a_model_that_is_one_linear_layer() -> None:
    x = torch.rand(5, 6)
    assert torch.equal(embed(nn.Linear(6, 2), x), x)


def test_pooling_of_positions() -> None:
    """A linear layer has features last, a convolution first: both become (n, features)."""
    x = torch.rand(4, 7, 6)
    model = nn.Sequential(nn.Linear(6, 3), nn.LayerNorm(3), nn.Linear(3, 2))
    assert torch.equal(embed(model, x, "0"), x.mean(1))
    torch.testing.assert_close(embed(model, x, "1"), model[0](x).mean(1).detach())
    assert nn.LayerNorm in FEATURES_LAST
    images = torch.rand(4, 3, 5, 5)
    torch.testing.assert_close(embed(conv_net(), images, "0"), images.mean((2, 3)))


@pytest.mark.parametrize("momentum", [0.1, None])
def test_batch_norm_sees_the_batch_and_forgets_it(momentum: float | None) -> None:
    model = conv_net()
    model[1].momentum = momentum
    model(torch.rand(8, 3, 6, 6))
    before = copy.deepcopy(model.state_dict())
    x = 3 + 2 * torch.rand(8, 3, 6, 6)
    got = embed(model, x)
    for name, value in model.state_dict().items():
        assert torch.equal(value, before[name]), name
    assert model[1].track_running_stats
    assert model[1].num_batches_tracked.item() == 1
    # Batch statistics: the same as a BatchNorm that has none of its own.
    free = nn.BatchNorm2d(4, track_running_stats=False)
    expected = model[2](free(model[0](x))).mean((2, 3)).detach()
    torch.testing.assert_close(got, expected)


def test_a_whole_step_counts_one_batch() -> None:
    """The running statistics after SK's step are those of the mixed pass alone."""
    torch.manual_seed(0)
    model, x, y = conv_net(), torch.rand(8, 3, 6, 6), torch.arange(8) % 3
    twin = copy.deepcopy(model)
    method = SKMixup(num_classes=3)
    loss = method.loss(model, x, y, generator=torch.Generator().manual_seed(1))
    mixed, _ = method(x, y, embed(twin, x), generator=torch.Generator().manual_seed(1))
    twin(mixed)
    assert loss.isfinite()
    assert model[1].num_batches_tracked.item() == 1
    torch.testing.assert_close(model[1].running_mean, twin[1].running_mean)


def test_instance_norm_forgets_as_well() -> None:
    model = nn.Sequential(
        nn.InstanceNorm2d(3, track_running_stats=True), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(3, 2)
    )
    before = copy.deepcopy(model.state_dict())
    embed(model, torch.rand(4, 3, 5, 5))
    after = model.state_dict()
    assert list(after) == list(before)
    assert all(torch.equal(after[name], before[name]) for name in before)


def test_models_in_eval_mode_use_their_running_statistics() -> None:
    model = conv_net()
    model(torch.rand(8, 3, 6, 6))
    model.eval()
    before = copy.deepcopy(model.state_dict())
    x = torch.rand(4, 3, 6, 6)
    expected = model[:-1](x).detach()
    torch.testing.assert_close(embed(model, x), expected)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert not any(module.training for module in model.modules())


def test_frozen_batch_norm_inside_a_training_model() -> None:
    model = conv_net()
    model[1].eval()
    x = torch.rand(4, 3, 6, 6)
    expected = model[2](model[1](model[0](x))).mean((2, 3)).detach()
    torch.testing.assert_close(embed(model, x), expected)


def test_dropout_is_off_and_modes_come_back() -> None:
    model = nn.Sequential(nn.Dropout(0.9), nn.Linear(6, 2))
    model[0].eval()
    model[0].train()
    x = torch.rand(4, 6)
    state = torch.random.get_rng_state()
    assert torch.equal(embed(model, x), x)
    assert torch.equal(torch.random.get_rng_state(), state)
    assert all(module.training for module in model.modules())


@pytest.mark.parametrize("enabled", [True, False])
def test_autocast(enabled: bool) -> None:
    model, x, y = conv_net(), torch.rand(8, 3, 6, 6), torch.arange(8) % 3
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=enabled):
        h = embed(model, x)
        loss = SKMixup().loss(model, x, y)
    loss.backward()
    assert h.shape == (8, 4)
    assert loss.isfinite()


class Broken(Counting):
    def forward(self, x: Tensor) -> Tensor:
        super().forward(x)
        raise RuntimeError("in the middle")


def test_hooks_are_removed_also_after_an_exception() -> None:
    good, bad = Counting(), Broken()
    embed(good, torch.rand(3, 6))
    assert hooks(good) == 0
    with pytest.raises(RuntimeError, match="in the middle"):
        embed(bad, torch.rand(3, 6))
    assert hooks(bad) == 0
    assert bad.training


def test_modes_come_back_after_an_exception() -> None:
    model = nn.Sequential(conv_net()[:4], Broken(4 * 36))
    with pytest.raises(RuntimeError, match="in the middle"):
        embed(model, torch.rand(3, 3, 6, 6))
    assert all(module.training for module in model.modules())
    assert model[0][1].track_running_stats
    assert model[0][1].num_batches_tracked.item() == 0


def test_a_model_without_linear_layer_is_told_what_to_pass() -> None:
    model = nn.Sequential(nn.Conv2d(3, 2, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    x, y = torch.rand(4, 3, 5, 5), torch.tensor([0, 1, 1, 0])
    with pytest.raises(
        ValueError, match=r"Sequential has no nn.Linear layer .* pass embedding_layer= .*space='input'"
    ):
        SKMixup().loss(model, x, y)
    assert SKMixup(embedding_layer="0").loss(model, x, y).isfinite()
    assert SKMixup(space="input").loss(model, x, y).isfinite()


def test_an_unknown_layer_gets_the_closest_name() -> None:
    with pytest.raises(ValueError, match=r"unknown layer 'haed'; did you mean 'head'\?"):
        embed(Counting(), torch.rand(2, 6), "haed")


class Twice(Counting):
    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.body(x)) + self.head(self.body(-x))


class Never(Counting):
    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.linear(self.body(x), self.head.weight)


class SequenceFirst(Counting):
    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.body(x).expand(2, -1, -1)).mean(0)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (Twice(), "layer 'head' must run exactly once in a forward pass, but ran 2 times"),
        (SequenceFirst(), r"layer 'head' must see 5 rows, one per sample, but saw shape \(2, 8\)"),
    ],
)
def test_layers_that_do_not_run_once_per_sample(model: nn.Module, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        embed(model, torch.rand(5, 6))
    assert hooks(model) == 0


def test_a_layer_that_never_runs() -> None:
    model, x = Never(), torch.rand(5, 6)
    with pytest.raises(
        ValueError, match="layer 'head' must run exactly once in a forward pass, but ran 0 times"
    ):
        embed(model, x, "head")
    assert torch.equal(embed(model, x), x)  # the last linear layer that runs is the first one


def test_attention_output_projection_never_fires() -> None:
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    model = nn.Sequential(nn.Linear(6, 8), layer)
    with pytest.raises(ValueError, match=r"'1.self_attn.out_proj' must run exactly once .* ran 0 times"):
        embed(model, torch.rand(3, 5, 6), "1.self_attn.out_proj")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("in_place", [False, True])
def test_compiled_models(in_place: bool) -> None:
    """Compiled modules ignore hooks that come later: the pass must run eagerly, and does."""
    plain = Counting()
    x, y = torch.rand(5, 6), torch.tensor([0, 1, 2, 0, 1])
    model: nn.Module = plain
    if in_place:
        plain.compile(backend="eager")
    else:
        model = torch.compile(plain, backend="eager")  # type: ignore[assignment]
    model(x)
    torch.testing.assert_close(embed(model, x), plain.body(x).detach())
    assert SKMixup().loss(model, x, y).isfinite()
    torch.compiler.reset()


def test_unwrap() -> None:
    model = Counting()
    assert unwrap(model) is model
    assert unwrap(nn.DataParallel(model)) is model
    assert unwrap(torch.compile(nn.DataParallel(model), backend="eager")) is model


def test_inputs_given_by_name() -> None:
    class Named(Counting):
        def forward(self, x: Tensor) -> Tensor:
            return self.head(input=self.body(x))

    assert embed(Named(), torch.rand(4, 6)).shape == (4, 8)


def test_rewriting_an_output() -> None:
    model, x = Counting(), torch.rand(4, 6)
    with rewrite_output(model, "body", lambda h: 2 * h, rows=4):
        changed = model(x)
    torch.testing.assert_close(changed, model.head(2 * model.body(x)))
    assert hooks(model) == 0
    with (
        pytest.raises(ValueError, match="layer 'body' must run exactly once"),
        rewrite_output(model, "body", torch.abs),
    ):
        pass
    assert hooks(model) == 0


def test_rewriting_needs_a_layer_that_runs_once() -> None:
    model = Twice()
    with pytest.raises(ValueError, match="ran 2 times"), rewrite_output(model, "body", torch.abs):
        model(torch.rand(4, 6))
    assert hooks(model) == 0


def test_only_tensors_can_be_rewritten() -> None:
    model = nn.Sequential(nn.LSTM(6, 3, batch_first=True))
    with (
        pytest.raises(TypeError, match="layer '0' must return a tensor to be mixed, got tuple"),
        rewrite_output(model, "0", torch.abs),
    ):
        model(torch.rand(4, 5, 6))
    assert hooks(model) == 0


class HeadFirst(nn.Module):
    """Registers its layers in another order than it runs them."""

    def __init__(self) -> None:
        super().__init__()
        self.head, self.body = nn.Linear(8, 3), nn.Linear(6, 8)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.body(x).tanh())


def test_the_last_layer_that_runs_is_taken_and_remembered() -> None:
    model, x = HeadFirst(), torch.rand(5, 6)
    expected = model.body(x).tanh().detach()
    torch.testing.assert_close(embed(model, x), expected)
    assert list(embedding_layers(model, None)) == ["head"]  # later passes hook one layer only
    torch.testing.assert_close(embed(model, x), expected)
    assert hooks(model) == 0


def test_models_are_remembered_weakly() -> None:
    model = HeadFirst()
    embed(model, torch.rand(5, 6))
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None


def test_layers_that_came_later_are_found() -> None:
    """What was remembered holds for the same linear layers only."""
    model, x = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3)), torch.rand(5, 6)
    assert embed(model, x).shape == (5, 8)
    model.append(nn.Linear(3, 2))
    torch.testing.assert_close(embed(model, x), model[:3](x).detach())
    del model[2:]
    model[0] = nn.Linear(6, 4)
    assert torch.equal(embed(model, x), x)


@pytest.mark.parametrize("momentum", [0.1, None])
def test_statistics_may_be_updated_as_by_the_released_code(momentum: float | None) -> None:
    """The running statistics are those of two passes in training mode: of the clean and the mixed batch."""
    torch.manual_seed(0)
    model, x, y = conv_net(), torch.rand(8, 3, 6, 6), torch.arange(8) % 3
    model[1].momentum = momentum
    twin = copy.deepcopy(model)
    h = embed(twin, x)
    method = SKMixup(num_classes=3, update_statistics=True)
    loss = method.loss(model, x, y, generator=torch.Generator().manual_seed(1))
    mixed, _ = method(x, y, h, generator=torch.Generator().manual_seed(1))
    twin(x), twin(mixed)
    assert loss.isfinite()
    assert model[1].num_batches_tracked.item() == 2
    torch.testing.assert_close(dict(model.named_buffers()), dict(twin.named_buffers()))
    torch.testing.assert_close(embed(model, x, update_statistics=True), h)  # the embeddings are the same
    assert all(module.training for module in model.modules())


def test_statistics_of_frozen_layers_are_never_updated() -> None:
    model = conv_net()
    model[1].eval()
    before = copy.deepcopy(model.state_dict())
    embed(model, torch.rand(4, 3, 6, 6), update_statistics=True)
    torch.testing.assert_close(model.state_dict(), before, rtol=0, atol=0)
