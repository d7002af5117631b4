"""A table like those of the paper, on moons, small enough to train in a test."""

from pathlib import Path

TABLE = """
title = "Made"
kind = "table"
section = "9"
repeats = 3

[columns.accuracy]
title = "Accuracy"
path = "test.before.accuracy"
scale = 100.0
better = "higher"
digits = 1

[columns.ece]
title = "ECE"
path = "test.before.ece"
scale = 100.0
digits = 2

[settings.plain]
title = "Plain"
hours = 0.5
small = "moons"
[settings.plain.columns.ece]
digits = 3
[settings.plain.experiment]
data = { name = "moons" }
model = { name = "mlp", hidden = [8] }
epochs = 1
batch = 100
accelerator = "cpu"
optimiser = { name = "adam", lr = 0.01 }
[settings.plain.released]
imitate = "released-protocol"
epochs = 2

[settings.large]
title = "Large"
device = "a100"
hours = 10.0
[settings.large.experiment]
data = { name = "cifar10" }
model = { name = "resnet34" }

[[rows]]
name = "erm"
title = "ERM"
method = { name = "erm" }
[rows.values.plain]
accuracy = [80.0, 2.0]
ece = 5.0

[[rows]]
name = "mixup-half"
title = "Mixup"
method = { name = "mixup", alpha = 1.0 }
[rows.methods.plain]
alpha = 0.5
[rows.released]
partners = "pool"
[rows.values.plain]
accuracy = [82.0, 1.0]
[rows.values.large]
accuracy = 90.0

[[rows]]
name = "others"
title = "Others"
reported = true
[rows.values.plain]
accuracy = 85.0
"""


def write_table(folder: Path, text: str = TABLE) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "made.toml"
    path.write_text(text, encoding="utf-8")
    return path
