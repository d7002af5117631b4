"""The torchmetrics classes: batches, resets, and two ranks give what one function call gives."""

import multiprocessing
import socket
from pathlib import Path

import pytest
import torch

from support_metrics import classifier, regressor
from tailormix import metrics
from tailormix.metrics.catalogue import METRICS, metric_function


def build(name: str) -> tuple[object, tuple[torch.Tensor, ...], float]:
    """Return the class of a metric, its arrays and the value of its function."""
    info = METRICS[name]
    if info.task == "classification":
        arrays = classifier(90)
        options = {"from_logits": True}
        extra = {"num_classes": 7} if name == "classwise_ece" else {}
    else:
        data = dict(zip(("mean", "std", "targets"), regressor(90, outputs=2), strict=True))
        arrays, options, extra = tuple(data[key] for key in info.arrays), {}, {}
    expected = metric_function(name)(*arrays, **options)
    return getattr(metrics, info.class_name)(**options, **extra), arrays, expected


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


@pytest.mark.parametrize("name", ["ece", "classwise_ece", "nll", "rmse", "coverage"])
def test_state_does_not_grow(name: str) -> None:
    metric, arrays, _ = build(name)
    metric.update(*arrays)
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


def rank(number: int, port: int, folder: str, uneven: bool) -> None:
    """Compute every metric on this rank's share, synchronised over two processes."""
    import torch.distributed as dist

    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=number, world_size=2)
    found = {}
    for name in METRICS:
        metric, arrays, _ = build(name)
        share = [array[number * 60 : number * 60 + 60] for array in arrays]
        if uneven and number == 1:
            share = []
        if share:
            metric.update(*share)
        found[name] = float(metric.compute()) if share else float(_quiet(metric))
    dist.destroy_process_group()
    Path(folder, f"{number}.txt").write_text(repr(found))


def _quiet(metric: object) -> torch.Tensor:
    """Compute on a rank that never saw a batch, which torchmetrics warns about."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return metric.compute()


@pytest.mark.parametrize("uneven", [False, True])
def test_two_ranks_equal_one(tmp_path: Path, uneven: bool) -> None:
    """90 samples as 60 + 30 over two processes; or 60 on the first and none on the second."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    context = multiprocessing.get_context("fork" if not torch.cuda.is_available() else "spawn")
    workers = [context.Process(target=rank, args=(n, port, str(tmp_path), uneven)) for n in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(120)
        assert worker.exitcode == 0
    for number in range(2):
        found = eval((tmp_path / f"{number}.txt").read_text())
        for name in METRICS:
            metric, arrays, expected = build(name)
            if uneven:
                metric.update(*(array[:60] for array in arrays))
                expected = float(metric.compute())
            assert found[name] == pytest.approx(expected, rel=1e-12), name
