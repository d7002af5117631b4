"""The callback and the loss of a step, in real fits of Lightning's Trainer on the CPU."""

from __future__ import annotations

import importlib
import logging
import sys
from typing import TYPE_CHECKING, Any

import pytest
import torch
from lightning.pytorch import Callback, LightningModule, Trainer
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset, default_collate

from integrations.cases import REGRESSION_ONLY, ready
from nets import Staged
from tailormix import Mixup, RegMixup, SKMixup, build_method, embed
from tailormix.integrations.common import generator_at
from tailormix.integrations.lightning import MixupCallback, mixup_loss
from tailormix.losses import build
from tailormix.methods import METHODS

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*does not have many workers"),
    pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning"),  # Lightning's own use of torch
]
ROWS, CLASSES = 20, 3
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


@pytest.fixture(autouse=True)
def no_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody has called ``seed_everything``."""
    monkeypatch.delenv("PL_GLOBAL_SEED", raising=False)


class Pictures(Dataset[Any]):
    """Made-up pictures, each with its class and its number; or with a real number."""

    def __init__(self, form: str = "list") -> None:
        draw = torch.Generator().manual_seed(0)
        self.x = torch.rand(ROWS, 1, 4, 4, generator=draw)
        self.y = torch.randint(CLASSES, (ROWS,), generator=draw)
        self.form = form

    def __len__(self) -> int:
        return ROWS

    def __getitem__(self, index: int) -> Any:
        x, y = self.x[index], self.y[index]
        if self.form == "numbers":
            return x, x.mean().view(1)
        return {"image": x, "label": y} if self.form == "dict" else (x, y, index)


class Net(LightningModule):
    """A module as people have it; keeps every batch that it was given."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.net = Staged(16, CLASSES)
        self.seen: dict[str, list[Any]] = {"train": [], "val": []}

    def forward(self, x: Tensor) -> Tensor:
        return self.net(x)

    def loss(self, kind: str, batch: Any) -> Tensor:
        self.seen[kind].append(batch)
        x, y = batch.values() if isinstance(batch, dict) else batch[:2]
        return functional.cross_entropy(self(x), y)

    def training_step(self, batch: Any, _: int) -> Tensor:
        return self.loss("train", batch)

    def validation_step(self, batch: Any, _: int) -> None:
        self.loss("val", batch)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.1, momentum=0.9)


class Stepping(Net):
    """A module whose training step is ``mixup_loss``."""

    def __init__(self, method: Any, criterion: Any = None, keep: bool = True, **more: Any) -> None:
        super().__init__()
        self.method, self.more = method, more
        self.held = (criterion,)
        if keep:
            self.criterion = criterion

    def training_step(self, batch: Any, _: int) -> Tensor:
        return mixup_loss(self, batch, self.method, self.held[0], model=self.net, **self.more)


def fit(
    module: LightningModule,
    *callbacks: Any,
    epochs: int = 1,
    ckpt: Path | None = None,
    form: str = "list",
    **more: Any,
) -> Trainer:
    data, collate = Pictures(form), as_tuple if form == "tuple" else None
    quiet = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False}
    options = {"accelerator": "cpu", "enable_checkpointing": False, **quiet, **more}
    trainer = Trainer(callbacks=list(callbacks), max_epochs=epochs, **options)
    train = DataLoader(data, batch_size=8, collate_fn=collate)
    trainer.fit(module, train, DataLoader(data, batch_size=8), ckpt_path=ckpt)
    return trainer


def as_tuple(samples: list[Any]) -> tuple[Any, ...]:
    return tuple(default_collate(samples))


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
    fit(module, MixupCallback(Mixup(num_classes=CLASSES), keys=("image", "label")), form="dict")
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


def test_every_batch_of_every_epoch_draws_anew_and_repeatably(monkeypatch: pytest.MonkeyPatch) -> None:
    """The seed is 0, or that of ``seed_everything``."""

    def mixed(seed: int | None) -> list[Tensor]:
        module = Net()
        fit(module, MixupCallback(Mixup(num_classes=CLASSES), seed=seed), epochs=2)
        return [batch[0] for batch in module.seen["train"]]

    def equal(one: list[Tensor], other: list[Tensor]) -> list[bool]:
        return [torch.equal(a, b) for a, b in zip(one, other, strict=True)]

    first, again, other = mixed(0), mixed(None), mixed(17)
    assert equal(first, again) == [True] * 6
    assert equal(first, other) == [False] * 6
    assert equal(first[:3], first[3:]) == [False] * 3
    monkeypatch.setenv("PL_GLOBAL_SEED", "17")
    assert equal(mixed(None), other) == [True] * 6


@pytest.mark.parametrize("name", sorted(METHODS))
def test_every_method_trains_as_in_a_plain_loop(name: str) -> None:
    """C-Mixup is for real targets, the rest for classes."""
    real = name == REGRESSION_ONLY
    method = build_method(name, partners="batch") if real else ready(name, CLASSES)
    form = "numbers" if real else "list"
    module, plain = Stepping(method), Stepping(method)
    if real:
        module.net, plain.net = (torch.manual_seed(1) and Staged(16, 1) for _ in range(2))
    fit(module, form=form, limit_val_batches=0)
    optimiser = plain.configure_optimizers()
    for step, (x, y, *_) in enumerate(DataLoader(Pictures(form), batch_size=8)):
        optimiser.zero_grad()
        method.loss(plain.net, x, y, generator=generator_at(0, 0, step, 0)).backward()
        optimiser.step()
    for key, value in plain.net.state_dict().items():
        torch.testing.assert_close(module.net.state_dict()[key], value, rtol=0, atol=0)


@pytest.mark.parametrize(("form", "keys"), [("tuple", (0, 1)), ("dict", ("image", "label"))])
def test_the_loss_reads_tuples_and_dictionaries(form: str, keys: tuple[Any, Any]) -> None:
    module = Stepping(SKMixup(), keys=keys)
    fit(module, form=form)
    assert not torch.equal(module.net.head.weight, Net().net.head.weight)


@pytest.mark.parametrize("name", [name for name in sorted(METHODS) if not build_method(name).batch_form])
def test_methods_without_a_batch_form_are_rejected(name: str) -> None:
    with pytest.raises(
        TypeError, match=r"needs the model: use tailormix\.integrations\.lightning.mixup_loss"
    ):
        MixupCallback(build_method(name, num_classes=CLASSES))


def test_bad_methods_and_batches_are_named() -> None:
    mixup = Mixup(num_classes=CLASSES)
    with pytest.raises(TypeError, match=r"got str: build it with build_method\('sk-mixup'\)"):
        MixupCallback("sk-mixup")
    with pytest.raises(TypeError, match=r"method must be a tailormix\.Method, got int"):
        fit(Stepping(3))
    with pytest.raises(TypeError, match=r"must be a list or a dictionary .* got tuple: let collate_fn"):
        fit(Net(), MixupCallback(mixup), form="tuple")
    with pytest.raises(ValueError, match=r"got 'x'; it has \['image', 'label'\]"):
        fit(Net(), MixupCallback(mixup, keys=("x", "y")), form="dict")
    with pytest.raises(ValueError, match="got 7; it has 3 entries"):
        fit(Stepping(Mixup(), ids=7))
    with pytest.raises(ValueError, match="num_classes is needed"):
        fit(Net(), MixupCallback(Mixup()))
    with pytest.raises(ValueError, match="CRL keeps a history, which checkpoints hold only if"):
        fit(Stepping(build_method("erm"), build("crl", size=ROWS), keep=False, ids=2))


def test_without_lightning_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lightning.pytorch", None)
    monkeypatch.delitem(sys.modules, "tailormix.integrations.lightning")
    with pytest.raises(ImportError, match=r'pip install "tailormix\[lightning\]"'):
        importlib.import_module("tailormix.integrations.lightning")


RUNS: dict[str, Any] = {
    "callback": lambda: (Net(), [MixupCallback(SKMixup(num_classes=CLASSES))]),
    "loss": lambda: (Stepping(RegMixup()), []),
    "hidden": lambda: (Stepping(build_method("sk-manifold-mixup")), []),
    "history": lambda: (Stepping(build_method("rankmixup"), build("crl", size=ROWS), ids=2), []),
}


def trained(run: str, epochs: int = 4, ckpt: Path | None = None) -> tuple[Any, Trainer]:
    """A fresh module after so many epochs, from its beginning or from a checkpoint."""
    module, callbacks = RUNS[run]()
    return module, fit(module, *callbacks, epochs=epochs, ckpt=ckpt)


@pytest.mark.parametrize("run", RUNS)
def test_resuming_ends_in_the_same_weights(run: str, tmp_path: Path) -> None:
    """The history of CRL is in the checkpoint and counts its epochs: three are over in the fourth."""
    whole = trained(run)[0].state_dict()
    stopped, trainer = trained(run, epochs=2)
    trainer.save_checkpoint(tmp_path / "stopped.ckpt")
    resumed = trained(run, ckpt=tmp_path / "stopped.ckpt")[0].state_dict()
    assert all(torch.equal(whole[key], resumed[key]) for key in whole)
    assert not torch.equal(whole["net.head.weight"], stopped.state_dict()["net.head.weight"])
    if run == "history":
        saved = torch.load(tmp_path / "stopped.ckpt", weights_only=True)["state_dict"]
        assert [int(state["criterion.epochs"]) for state in (saved, resumed)] == [1, 3]
        assert 0 < int(resumed["criterion.counts"].sum()) <= 4 * ROWS


class Saving(Callback):
    """Makes a checkpoint after every validation, as ModelCheckpoint does by default."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def on_validation_end(self, trainer: Trainer, _: LightningModule) -> None:
        if not trainer.sanity_checking:
            trainer.save_checkpoint(self.folder / f"{trainer.current_epoch}.ckpt")


def test_checkpoints_made_at_validation_resume_alike(tmp_path: Path) -> None:
    """Those are made before the epoch has ended: it is counted once, all the same."""
    whole = RUNS["history"]()[0]
    fit(whole, Saving(tmp_path), epochs=4)
    resumed, _ = trained("history", ckpt=tmp_path / "1.ckpt")
    assert all(torch.equal(value, resumed.state_dict()[key]) for key, value in whole.state_dict().items())
