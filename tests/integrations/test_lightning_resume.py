"""Runs of Lightning that are stopped and resumed end where uninterrupted ones do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch
from lightning.pytorch import Callback, LightningModule, Trainer
from torch import Tensor

from integrations.lightning_modules import CLASSES, ROWS, Net, Stepping, fit
from tailormix import RegMixup, SKMixup, build_method
from tailormix.integrations.lightning import MixupCallback
from tailormix.losses import build

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*does not have many workers"),
    pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning"),  # Lightning's own use of torch
]


@pytest.fixture(autouse=True)
def no_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody has called ``seed_everything``."""
    monkeypatch.delenv("PL_GLOBAL_SEED", raising=False)


def final_weights(
    make: Any, folder: Path, *, stop: int | None, epochs: int = 4
) -> tuple[dict[str, Tensor], Any]:
    """Weights after a fit, in one go or stopped after some epochs and resumed in a fresh module."""
    module, callbacks = make()
    if stop is None:
        fit(module, *callbacks, epochs=epochs)
        return module.state_dict(), module
    trainer = fit(module, *callbacks, epochs=stop)
    trainer.save_checkpoint(folder / "stopped.ckpt")
    module, callbacks = make()
    fit(module, *callbacks, epochs=epochs, ckpt=folder / "stopped.ckpt")
    return module.state_dict(), module


RUNS: dict[str, Any] = {
    "callback": lambda: (Net(), [MixupCallback(SKMixup(num_classes=CLASSES))]),
    "loss": lambda: (Stepping(RegMixup()), []),
    "hidden": lambda: (Stepping(build_method("sk-manifold-mixup")), []),
    "history": lambda: (Stepping(build_method("rankmixup"), build("crl", size=ROWS), ids=2), []),
}


@pytest.mark.parametrize("run", RUNS)
def test_resuming_ends_in_the_same_weights(run: str, tmp_path: Path) -> None:
    whole, _ = final_weights(RUNS[run], tmp_path, stop=None)
    resumed, _ = final_weights(RUNS[run], tmp_path, stop=2)
    other, _ = final_weights(RUNS[run], tmp_path, stop=None, epochs=3)
    assert all(torch.equal(whole[key], resumed[key]) for key in whole)
    assert not torch.equal(whole["net.head.weight"], other["net.head.weight"])


class Saving(Callback):
    """Makes a checkpoint after every validation, as ModelCheckpoint does by default."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def on_validation_end(self, trainer: Trainer, _: LightningModule) -> None:
        if not trainer.sanity_checking:
            trainer.save_checkpoint(self.folder / f"{trainer.current_epoch}.ckpt")


def test_checkpoints_made_at_validation_resume_alike(tmp_path: Path) -> None:
    """Those are made before the epoch has ended: it is counted once, all the same."""
    whole, _ = final_weights(RUNS["history"], tmp_path, stop=None)
    fit(RUNS["history"]()[0], Saving(tmp_path), epochs=2)
    module, _ = RUNS["history"]()
    fit(module, epochs=4, ckpt=tmp_path / "1.ckpt")
    assert all(torch.equal(value, whole[key]) for key, value in module.state_dict().items())


def test_the_history_counts_epochs_and_is_in_the_checkpoint(tmp_path: Path) -> None:
    """Three epochs over, the fourth under way: what CRL's ``epochs`` is while the fourth is trained."""
    state, module = final_weights(RUNS["history"], tmp_path, stop=2)
    saved = torch.load(tmp_path / "stopped.ckpt", weights_only=True)["state_dict"]
    assert int(saved["criterion.epochs"]) == 1
    assert int(state["criterion.epochs"]) == 3
    assert 0 < int(module.criterion.counts.sum()) <= 4 * ROWS


def test_a_history_outside_the_module_is_rejected() -> None:
    with pytest.raises(ValueError, match="CRL keeps a history, which checkpoints hold only if"):
        fit(Stepping(build_method("erm"), build("crl", size=ROWS), keep=False, ids=2))
