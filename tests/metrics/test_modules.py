"""The torchmetrics classes: batches, resets, and two ranks give what one function call gives."""

import json
import multiprocessing
import socket
from pathlib import Path

import pytest
import torch

from support_metrics import classifier
from support_ranks import build, rank
from tailormix import metrics
from tailormix.metrics.registry import METRICS


@pytest.mark.parametrize("name", METRICS)
def test_batches_forward_and_reset(name: str) -> None:
    metric, arrays, expected = build(name)
    for start, stop in ((0, 1), (1, 40), (40, 90)):
        metric.update(*(array[start:stop] for array in arrays))
    assert float(metric.compute()) == pytest.approx(expected, rel=1e-12)
    metric.reset()
    on_batch = metric(*(array[:30] for array in arrays))
    metric(*(array[30:] for array in arrays))
    assert float(metric.compute()) == pytest.approx(expected, rel=1e-12)
    assert float(on_batch) != pytest.approx(expected, rel=1e-6)
    if hasattr(metric, "sums"):  # a state that does not grow
        size = metric.sums.numel()
        metric.update(*arrays)
        assert metric.sums.numel() == size


def test_class_options_reach_the_function() -> None:
    logits, targets = classifier(90)
    for metric, expected in (
        (metrics.ECE(norm="l2", n_bins=7, from_logits=True), {"norm": "l2", "n_bins": 7}),
        (metrics.ECE(norm="max", from_logits=True), {"norm": "max"}),
    ):
        metric.update(logits, targets)
        assert float(metric.compute()) == pytest.approx(
            metrics.ece(logits, targets, from_logits=True, **expected)
        )
    column, event = logits.softmax(1)[:, 0], (targets == 0).long()
    metric = metrics.ClasswiseECE(2, binary="positive")
    metric.update(column, event)
    assert float(metric.compute()) == pytest.approx(metrics.classwise_ece(column, event, binary="positive"))


def test_bad_options_and_bad_width() -> None:
    with pytest.raises(ValueError, match="unknown norm"):
        metrics.ECE(norm="l7")
    with pytest.raises(ValueError, match="n_bins must be >= 1"):
        metrics.AECE(n_bins=0)
    with pytest.raises(ValueError, match="num_classes=3 columns, got 2"):
        metrics.ClasswiseECE(3).update(torch.tensor([[0.5, 0.5]]), torch.tensor([0]))


def test_collection_plot_and_copy() -> None:
    from matplotlib.figure import Figure
    from torchmetrics import MetricCollection

    logits, targets = classifier(60)
    both = MetricCollection(
        [metrics.ECE(from_logits=True), metrics.AECE(from_logits=True), metrics.NLL(from_logits=True)]
    )
    both.update(predictions=logits, targets=targets)
    assert float(both.clone().compute()["ECE"]) == pytest.approx(
        metrics.ece(logits, targets, from_logits=True)
    )
    for metric in both.values():
        figure, _ = metric.plot()
        assert isinstance(figure, Figure)
    import matplotlib.pyplot as plt

    plt.close("all")


def test_two_ranks_equal_one(tmp_path: Path) -> None:
    """90 samples as 60 + 30 over two processes; and 60 on the first with none on the second."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["support_ranks"])  # imported once, not once a rank
    workers = [context.Process(target=rank, args=(number, port, str(tmp_path))) for number in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(200)
        assert worker.exitcode == 0
    for number in range(2):
        found = json.loads((tmp_path / f"{number}.json").read_text())
        for name in METRICS:
            metric, arrays, expected = build(name)
            metric.update(*(array[:60] for array in arrays))
            assert found["both"][name] == pytest.approx(expected, rel=1e-12), name
            assert found["first only"][name] == pytest.approx(float(metric.compute()), rel=1e-12), name
