"""What one of two processes does; spawned, so it must be importable."""

import json
import warnings
from pathlib import Path
from typing import Any

import torch

from support_metrics import classifier, regressor
from tailormix import metrics
from tailormix.metrics.registry import METRICS, metric_function


def build(name: str) -> tuple[Any, tuple[torch.Tensor, ...], float]:
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


def rank(number: int, port: int, folder: str) -> None:
    """Compute every metric over two synchronised processes: 60 and 30 samples, then 60 and none."""
    import torch.distributed as dist

    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=number, world_size=2)
    found: dict[str, dict[str, float]] = {"both": {}, "first only": {}}
    for name in METRICS:
        for case, values in found.items():
            metric, arrays, _ = build(name)
            if number == 0 or case == "both":
                metric.update(*(array[60 * number : 60 * number + 60] for array in arrays))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # torchmetrics warns where a rank saw no batch
                values[name] = float(metric.compute())
    dist.destroy_process_group()
    Path(folder, f"{number}.json").write_text(json.dumps(found))
