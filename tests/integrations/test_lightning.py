"""The callback and the loss of a step, in real fits of Lightning's Trainer on the CPU."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import pytest
import torch
from lightning.pytorch import Trainer
from torch import Tensor, nn
from torch.utils.data import DataLoader

from integrations.cases import REGRESSION_ONLY, ready
from integrations.lightning_modules import CLASSES, CPU, Net, Numbers, Pictures, Stepping, fit
from nets import Staged
from tailormix import Mixup, SKMixup, build_method, embed
from tailormix.integrations.common import generator_at
from tailormix.integrations.lightning import MixupCallback
from tailormix.methods import METHODS

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*does not have many workers"),
    pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning"),  # Lightning's own use of torch
]


@pytest.fixture(autouse=True)
def no_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody has called ``seed_everything``."""
    monkeypatch.delenv("PL_GLOBAL_SEED", raising=False)


@pytest.mark.parametrize("model", [None, "net"])
def test_the_callback_mixes_training_batches_by_embeddings(model: str | None) -> None:
    """The first batch is what the method makes of it with the embeddings of the fresh model, by hand."""
    module, method = Net(), SKMixup(num_classes=CLASSES)
    data, fresh = Pictures(), Net()
    x, y = method(data.x[:8], data.y[:8], embed(fresh.net, data.x[:8]), generator=generator_at(5, 0, 0, 0))
    fit(module, MixupCallback(method, model=model, seed=5))
    first = module.seen["train"][0]
    torch.testing.assert_close(first[0], x, rtol=0, atol=0)
    torch.testing.assert_close(first[1], y, rtol=0, atol=0)
    assert torch.equal(first[2], torch.arange(8))
    assert [len(batch[0]) for batch in module.seen["train"]] == [8, 8, 4]


def test_validation_batches_are_not_mixed() -> None:
    module, data = Net(), Pictures()
    fit(module, MixupCallback(Mixup(num_classes=CLASSES)), epochs=2)
    batches = module.seen["val"][-3:]
    assert len(module.seen["val"]) == 2 + 2 * 3  # the sanity check, too
    assert torch.equal(torch.cat([batch[0] for batch in batches]), data.x)
    assert torch.equal(torch.cat([batch[1] for batch in batches]), data.y)


def test_dictionaries_are_mixed_by_their_keys() -> None:
    module = Net()
    fit(module, MixupCallback(Mixup(num_classes=CLASSES), keys=("image", "label")), form=dict)
    assert [set(batch) for batch in module.seen["train"]] == [{"image", "label"}] * 3
    assert [batch["label"].shape for batch in module.seen["train"]] == [(8, 3), (8, 3), (4, 3)]
    assert all(batch["label"].dim() == 1 for batch in module.seen["val"])


def test_the_model_keeps_its_mode_and_statistics() -> None:
    """The extra pass is no training step: BatchNorm has counted one pass per batch."""
    module = Net()
    module.net = nn.Sequential(nn.Flatten(), nn.Linear(16, 5), nn.BatchNorm1d(5), nn.Linear(5, CLASSES))
    fit(module, MixupCallback(SKMixup(num_classes=CLASSES)), epochs=2)
    assert int(module.net[2].num_batches_tracked) == 2 * 3


def test_embeddings_are_measured_in_the_precision_of_the_trainer() -> None:
    """Passes of the network in bfloat16, the one that measures too; what is mixed stays as it came."""
    module, seen = Net(), []
    module.net.head.register_forward_hook(lambda _, __, logits: seen.append(logits.dtype))
    fit(module, MixupCallback(SKMixup(num_classes=CLASSES)), precision="bf16-mixed", limit_val_batches=0)
    assert seen == [torch.bfloat16] * 2 * 3
    assert module.seen["train"][0][0].dtype == torch.float32


def test_every_batch_of_every_epoch_draws_anew_and_repeatably() -> None:
    def soft(seed: int | None) -> list[Tensor]:
        module = Net()
        fit(module, MixupCallback(Mixup(num_classes=CLASSES), seed=seed), epochs=2)
        return [batch[0] for batch in module.seen["train"]]

    first, again, other = soft(1), soft(1), soft(2)
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    assert not any(torch.equal(a, b) for a, b in zip(first, other, strict=True))
    assert not any(torch.equal(a, b) for a, b in zip(first[:3], first[3:], strict=True))


def test_the_seed_of_seed_everything_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    def first_batch(seed: int | None) -> Tensor:
        module = Net()
        fit(module, MixupCallback(Mixup(num_classes=CLASSES), seed=seed))
        return module.seen["train"][0][0]

    assert torch.equal(first_batch(None), first_batch(0))
    monkeypatch.setenv("PL_GLOBAL_SEED", "17")
    assert torch.equal(first_batch(None), first_batch(17))


@pytest.mark.parametrize("name", sorted(METHODS))
def test_every_method_trains_as_in_a_plain_loop(name: str) -> None:
    """C-Mixup is for real targets, the rest for classes."""
    real = name == REGRESSION_ONLY
    method = build_method(name, partners="batch") if real else ready(name, CLASSES)
    data, module, plain = (Numbers() if real else Pictures()), Stepping(method), Stepping(method)
    if real:
        module.net, plain.net = (torch.manual_seed(1) and Staged(16, 1) for _ in range(2))
    trainer = Trainer(max_epochs=1, enable_checkpointing=False, limit_val_batches=0, **CPU)
    trainer.fit(module, DataLoader(data, batch_size=8), DataLoader(data))
    optimiser = plain.configure_optimizers()
    for step, (x, y, *_) in enumerate(DataLoader(data, batch_size=8)):
        optimiser.zero_grad()
        method.loss(plain.net, x, y, generator=generator_at(0, 0, step, 0)).backward()
        optimiser.step()
    for key, value in plain.net.state_dict().items():
        torch.testing.assert_close(module.net.state_dict()[key], value, rtol=0, atol=0)


def test_the_loss_reads_tuples_and_dictionaries() -> None:
    for form, collate, keys in ((list, as_tuple, (0, 1)), (dict, None, ("image", "label"))):
        module = Stepping(SKMixup(), keys=keys)
        fit(module, form=form, collate_fn=collate)
        assert not torch.equal(module.net.head.weight, Net().net.head.weight)


def as_tuple(samples: list[Any]) -> tuple[Any, ...]:
    return tuple(torch.utils.data.default_collate(samples))


def test_tuples_cannot_be_mixed_in_place() -> None:
    with pytest.raises(TypeError, match=r"must be a list or a dictionary .* got tuple: let collate_fn"):
        fit(Net(), MixupCallback(Mixup(num_classes=CLASSES)), collate_fn=as_tuple)


@pytest.mark.parametrize("name", [name for name in sorted(METHODS) if not build_method(name).batch_form])
def test_methods_without_a_batch_form_are_rejected(name: str) -> None:
    with pytest.raises(
        TypeError, match=r"needs the model: use tailormix\.integrations\.lightning.mixup_loss"
    ):
        MixupCallback(build_method(name, num_classes=CLASSES))


def test_a_name_is_not_a_method() -> None:
    with pytest.raises(TypeError, match=r"got str: build it with build_method\('sk-mixup'\)"):
        MixupCallback("sk-mixup")
    with pytest.raises(TypeError, match=r"method must be a tailormix\.Method, got int"):
        fit(Stepping(3))


def test_missing_entries_are_named() -> None:
    with pytest.raises(ValueError, match=r"got 'x'; it has \['image', 'label'\]"):
        fit(Net(), MixupCallback(Mixup(num_classes=CLASSES), keys=("x", "y")), form=dict)
    with pytest.raises(ValueError, match="got 7; it has 3 entries"):
        fit(Stepping(Mixup(), ids=7))


def test_class_indices_need_num_classes() -> None:
    with pytest.raises(ValueError, match="num_classes is needed"):
        fit(Net(), MixupCallback(Mixup()))


def test_without_lightning_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lightning.pytorch", None)
    monkeypatch.delitem(sys.modules, "tailormix.integrations.lightning")
    with pytest.raises(ImportError, match=r'pip install "tailormix\[lightning\]"'):
        importlib.import_module("tailormix.integrations.lightning")
