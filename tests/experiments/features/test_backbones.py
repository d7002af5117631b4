"""Backbones by every kind of name, against the models themselves."""

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
import transformers
from torch.nn import functional

from docs.stand_ins import present
from tailormix.experiments.features.backbones import load_backbone, weights_sha256
from tailormix.experiments.plugins import PluginError
from tailormix.models import MobileNetV2
from tailormix.pretrained import pretrained
from tiny_bert import tiny_bert

IMAGES = torch.randint(256, (5, 3, 20, 20), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))


def test_texts_are_means_over_their_tokens_of_length_one() -> None:
    bert = tiny_bert()
    backbone = load_backbone(str(bert), "texts")
    texts = ["where is my card ?", "lost", "my card"]
    found = backbone(texts)
    assert found.shape == (3, 8)
    model, tokenizer = transformers.BertModel.from_pretrained(bert).eval(), transformers.BertTokenizer
    tokens = tokenizer.from_pretrained(bert)
    for text, row in zip(texts, found, strict=True):  # one by one there is no padding to leave out
        with torch.no_grad():
            hidden = model(**tokens([text], return_tensors="pt")).last_hidden_state
        expected = functional.normalize(hidden[0].mean(0), dim=0)
        torch.testing.assert_close(row, expected, atol=1e-5, rtol=1e-5)
    assert backbone.sha256 == weights_sha256(model)
    assert "size" not in backbone.facts("texts")


def test_mobilenet_pools_its_last_features(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = MobileNetV2().eval()
    torch.save(model.state_dict(), tmp_path / "weights.pt")
    backbone = load_backbone("mobilenetv2", "images", weights=tmp_path / "weights.pt", size=32)
    mean, std = torch.tensor([[0.485, 0.456, 0.406], [0.229, 0.224, 0.225]])[:, :, None, None]
    x = functional.interpolate(IMAGES.float(), (32, 32), mode="bilinear", antialias=True) / 255
    with torch.no_grad():
        expected = model.features((x - mean) / std).mean((2, 3))
    torch.testing.assert_close(backbone(IMAGES), expected, atol=1e-4, rtol=1e-4)
    grey = IMAGES[:, :1]
    torch.testing.assert_close(backbone(grey), backbone(grey.expand(-1, 3, -1, -1)))


def test_an_image_model_of_transformers(tmp_path: Path) -> None:
    torch.manual_seed(0)
    config = transformers.ViTConfig(
        image_size=8,
        patch_size=4,
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=8,
    )
    model = transformers.ViTModel(config).eval()
    model.save_pretrained(tmp_path)
    made = transformers.ViTImageProcessor(
        size={"height": 8, "width": 8}, image_mean=[0.5] * 3, image_std=[0.25] * 3
    )
    made.save_pretrained(tmp_path)
    backbone = load_backbone(str(tmp_path), "images")
    assert (backbone.size, backbone.mean, backbone.std) == (8, (0.5,) * 3, (0.25,) * 3)
    x = IMAGES[:, :, :8, :8]
    with torch.no_grad():
        expected = model(pixel_values=(x / 255 - 0.5) / 0.25).pooler_output
    torch.testing.assert_close(backbone(x), expected, atol=1e-5, rtol=1e-5)


def test_a_model_of_timm() -> None:
    from docs import stand_ins

    class Pretrained(stand_ins.ResNet):
        """With the constants that timm tells, and without a head where none is wanted."""

        pretrained_cfg: ClassVar[dict[str, Any]] = {
            "mean": (0.5,) * 3,
            "std": (0.5,) * 3,
            "input_size": (3, 16, 16),
        }

        def __init__(self, pretrained: bool, num_classes: int) -> None:
            assert pretrained
            assert num_classes == 0
            super().__init__(num_classes=3)
            self.fc = torch.nn.Identity()

    with pytest.MonkeyPatch.context() as patch, present("timm"):
        patch.setitem(stand_ins.MODELS, "resnet10t", Pretrained)
        backbone = load_backbone("timm:resnet10t", "images")
    assert (backbone.size, backbone.mean) == (16, (0.5,) * 3)
    assert backbone(IMAGES).shape == (5, 8)


PLUGIN = """
import torch

class Colours(torch.nn.Module):
    def forward(self, images):
        return images.mean((2, 3))

colours = Colours()

def make():
    return Colours()

def encode(images):
    return images.mean((2, 3))

def lengths(texts):
    return torch.tensor([[len(text), 1] for text in texts])

def wrong(images):
    return images.mean()

def broken(images):
    return images.mean((2, 3)) / 0

def lacking(texts):
    return {}["such"]

def leaving(texts):
    raise SystemExit("two\\nlines")
"""


def test_code_of_the_user(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(PLUGIN)
    found = [
        load_backbone(f"{path}:{name}", "images", size=20)(IMAGES)
        for name in ("Colours", "colours", "make", "encode")
    ]
    assert found[0].shape == (5, 3)
    assert all(torch.equal(found[0], other) for other in found)
    assert load_backbone(f"{path}:lengths", "texts")(["one", "three"]).tolist() == [[3, 1], [5, 1]]
    with pytest.raises(ValueError, match=r"mine.py:wrong must return features of shape \(5, d\), got \(\)"):
        load_backbone(f"{path}:wrong", "images")(IMAGES)
    with pytest.raises(ValueError, match=r"mine.py:broken returned features that are not finite"):
        load_backbone(f"{path}:broken", "images")(IMAGES)


@pytest.mark.parametrize(
    ("name", "raised"), [("lacking", "KeyError: 'such'"), ("leaving", "SystemExit: two lines")]
)
def test_an_error_in_code_of_the_user_names_the_plugin(tmp_path: Path, name: str, raised: str) -> None:
    path = tmp_path / "mine.py"
    path.write_text(PLUGIN)
    with pytest.raises(PluginError) as caught:
        load_backbone(f"{path}:{name}", "texts")(["one"])
    assert str(caught.value) == f"plug-in {path}:{name}: it raised {raised}"


def test_a_program(tmp_path: Path) -> None:
    class Half(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.mean((2, 3)) / 2

    rows = torch.export.Dim("rows", min=1)
    program = torch.export.export(Half(), (torch.zeros(2, 3, 8, 8),), dynamic_shapes=({0: rows},))
    torch.export.save(program, tmp_path / "half.pt2")
    backbone = load_backbone(str(tmp_path / "half.pt2"), "images", size=8)
    expected = backbone.normalised(IMAGES).mean((2, 3)) / 2
    torch.testing.assert_close(backbone(IMAGES), expected)


def test_a_program_of_a_run_takes_bytes(tmp_path: Path) -> None:
    from tailormix.experiments import load_run, read
    from tailormix.experiments.exporting import export_program
    from tailormix.experiments.running import run_experiment

    run_experiment(read("digits-mlp", ["epochs=1", "accelerator=cpu"]), tmp_path / "run")
    run = load_run(tmp_path / "run")
    (tmp_path / "run.pt2").write_bytes(export_program(run)[0])
    backbone = load_backbone(str(tmp_path / "run.pt2"), "images")
    ink = torch.randint(17, (4, 1, 8, 8), dtype=torch.uint8)
    found = backbone((ink.float() * 255 / 16).round().to(torch.uint8))
    np.testing.assert_allclose(found, run.predict_proba(ink), atol=1e-5)


@pytest.mark.parametrize(
    ("name", "kind", "options", "message"),
    [
        ("mobilenetv2", "images", {}, "--model mobilenetv2 needs --weights FILE"),
        ("mobilenetv2", "texts", {}, "--model must be one for texts: file.py:name, or a folder"),
        ("resnet18", "images", {}, "--model must be one for images: mobilenetv2, timm:NAME"),
        ("no.pt2", "images", {}, r"cannot use no\.pt2: expected a program of torch.export, got no such file"),
        ("no/such/model", "texts", {}, "cannot load AutoModel of 'no/such/model' by transformers"),
        ("no.py:model", "texts", {}, r"plug-in no\.py:model: there is no file no\.py"),
        (
            "folder",
            "images",
            {"weights": Path("w.pt")},
            "--weights is for mobilenetv2, got it with --model fol",
        ),
    ],
)
def test_wrong_models(
    name: str, kind: Any, options: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(ValueError, match=message) as caught:
        load_backbone(name, kind, **options)
    assert "\n" not in str(caught.value)


def test_a_folder_that_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="cannot load AutoModel of"):
        pretrained("AutoModel", str(tmp_path))
