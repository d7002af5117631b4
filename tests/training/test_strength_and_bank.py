"""Runs whose method sets its own strength, or looks its embeddings up."""

from pathlib import Path

import pytest
from safetensors.numpy import load_file

from tailormix.experiments import building, read
from training.runs import rows_of, train


def test_the_strength_of_every_epoch_is_recorded_and_used(tmp_path: Path) -> None:
    result = train(tmp_path, "method=sk-mixup", "method.tau_max=auto")
    strengths = [row["strength"] for row in rows_of(tmp_path)]
    assert strengths[0] == 1.0
    assert len(set(strengths)) == 3
    assert result["strength"] == {"per epoch": strengths, "steered by": "validation"}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (("method=erm",), None),
        (("method=mixup", "method.per=auto"), "only alpha can be set automatically"),
        (("method=two-beta", "method.alpha_near=auto"), "two-beta has no strength"),
        (
            ("method=mixup", "method.alpha=auto", "data.protocol=as-published"),
            "validation split, but that of moons is empty",
        ),
        (
            ("method=mixup", "method.alpha=auto", "imitate=released-protocol"),
            "cannot imitate released-protocol",
        ),
        (("method=mixup", "embeddings.every=2"), "does not"),
        (("embeddings.every=-1",), "embeddings.every must be >= 0, got -1"),
        (("embeddings.evry=1",), "did you mean 'every'"),
    ],
)
def test_what_cannot_be_set_automatically_says_so(
    settings: tuple[str, ...], message: str | None, tmp_path: Path
) -> None:
    if message is None:
        assert building.build(read("moons", settings)).auto is None
        return
    with pytest.raises(ValueError, match=message):
        train(tmp_path, *settings)
    assert {file.name for file in tmp_path.rglob("*")} <= {".lock"}


def test_real_targets_have_no_automatic_strength(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text("a,b\n" + "".join(f"{k / 7},{k / 3}\n" for k in range(40)))
    settings = ("data=table", f"data.path={table}", "method=mixup", "method.alpha=auto", "batch=8")
    with pytest.raises(ValueError, match="automatic strength is for classes"):
        train(tmp_path / "run", *settings)


def test_a_bank_is_refreshed_when_it_is_due(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tailormix.embeddings import EmbeddingBank

    refreshed = []
    refresh = EmbeddingBank.refresh

    def watch(self, *arguments, **options):
        refreshed.append(self.n)
        return refresh(self, *arguments, **options)

    monkeypatch.setattr(EmbeddingBank, "refresh", watch)
    train(tmp_path, "method=sk-mixup", "method.space=embedding", "embeddings.every=2")
    assert refreshed == [300, 300]  # before epochs 1 and 3 of 3
    assert load_file(tmp_path / "checkpoints" / "last.safetensors")["bank.embeddings"].shape == (300, 20)
