"""Wrong commands of every kind: one line that helps, exit code 2, no traceback, and nothing is written."""

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from typer.main import get_command

from cli.calling import call
from support_runs import make_run
from tailormix.cli.main import app

TABLE = "a,b,y\n" + "".join(f"{row},{row % 7},{'uv'[row % 2]}\n" for row in range(40))
DEEP = "[" * 100_000


def experiment(data: str) -> str:
    """An experiment file on data of the user."""
    return f'[data]\n{data}\n[model]\nname = "mlp"\n[method]\nname = "sk-mixup"\n'


def on_table(name: str, more: str = 'target = "y"') -> str:
    return experiment(f'name = "table"\npath = "{name}"\n{more}')


def on_arrays(name: str) -> str:
    return experiment(f'name = "npz"\npath = "{name}"')


FILES: dict[str, str | bytes] = {
    "file": "x",
    "page.md": "old",
    "syntax.toml": "data = [",
    "bytes.toml": bytes(range(256)),
    "deep.toml": f"data = {DEEP}",
    "types.toml": 'data = 3\nmodel = "mlp"\n',
    "gap.toml": 'data = "moons"\n',
    "table.csv": TABLE,
    "word.csv": TABLE.replace("3,3,v", "3,three,v"),
    "word.toml": on_table("word.csv"),
    "absent.toml": on_table("nosuch.csv"),
    "column.toml": on_table("table.csv", 'target = "z"'),
    "classes.toml": on_table("one.csv"),
    "one.csv": TABLE.replace("u\n", "v\n"),
    "text.npz": "text",
    "text.toml": on_arrays("text.npz"),
    "empty.toml": experiment('name = "folder"\npath = "empty"'),
    "layout.toml": experiment('name = "folder"\npath = "layout"'),
    "layout/train/u/1.png": "x",
    "layout/test/u/1.png": "x",
    "plug.py": "number = 3\n",
    "broken.py": "def net(:\n",
    "results/half.json": "{",
    "list/list.json": "[1]",
    "deep/deep.json": DEEP,
    "half/result.json": "{",
    "half/experiment.json": "{}",
    "nested/result.json": DEEP,
    "nested/experiment.json": "{}",
    "new.csv": "a,b\n1,2\n",
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of good and bad files."""
    folder = tmp_path_factory.mktemp("wrong")
    for name, content in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    (folder / "empty").mkdir()
    make_run(folder / "run")
    logits, targets = np.random.default_rng(0).normal(size=(9, 3)), np.arange(9) % 3
    np.savez(folder / "test.npz", logits=logits, targets=targets, split="test")
    np.savez(folder / "only.npz", logits=logits)
    np.savez(folder / "nan.npz", logits=logits * np.nan, targets=targets)
    np.savez(folder / "shape.npz", x=np.zeros((5, 2)), y=np.zeros(4, int))
    (folder / "shape.toml").write_text(on_arrays("shape.npz"))
    np.savez(folder / "objects.npz", logits=np.array([{}], object), targets=np.array([0]))
    whole = (folder / "test.npz").read_bytes()
    (folder / "cut.npz").write_bytes(whole[: len(whole) // 2])
    return folder


WRONG = {
    "": [
        ("lst", "No such command 'lst'. Did you mean 'list'?"),
        ("--foo", "No such option: --foo"),
    ],
    "list": [
        ("", "Missing argument"),
        ("metods", "did you mean 'methods'?"),
        ("nosuch", "unknown family 'nosuch'. Known: methods"),
        ("methods --jsn", "No such option: --jsn"),
    ],
    "data": [
        ("lst", "No such command"),
        ("get", "Missing argument"),
        ("get airfol", "did you mean 'airfoil'?"),
        ("verify airfol", "did you mean 'airfoil'?"),
        ("get digits", "digits is built in: it has no published files"),
        ("verify digits", "digits is built in: it has no published files"),
        ("list --root file", "is a file"),
    ],
    "train": [
        ("", "Missing argument"),
        ("moon", "did you mean 'moons'?"),
        ("moons --set epoch=1", "did you mean 'epochs'?"),
        ("moons --set epochs", "--set takes key=value, got 'epochs'"),
        ("moons --set epochs=0", "epochs must be >= 1, got 0"),
        ("moons --set epochs=x", "epochs must be a whole number, got str: 'x'"),
        ("moons --set method=mixp", "did you mean 'mixup'?"),
        ("moons --set method=mixup --set method.alpha=-1", "alpha must be >= 0, got -1"),
        ("moons --set method.tau_sdt=1", "did you mean 'tau_std'?"),
        ("moons --set model=mlpp", "did you mean 'mlp'?"),
        ("moons --set optimiser=sgdd", "did you mean 'sgd'?"),
        ("moons --set data.nois=1", "did you mean 'noise'?"),
        ("moons --set data.fold=9/3", "fold must be like 1/10"),
        ("moons --set seed=99999999999999999999", "seed must be < 2**63"),
        ("moons --set precision=17", "unknown precision 17"),
        ("moons --set model=nosuch.py:net", "there is no file nosuch.py"),
        ("moons --set model=broken.py:net", "invalid syntax"),
        ("moons --set model=plug.py:net", "unknown name 'net'. Known: number"),
        ("moons --set model=plug.py:number", "must be callable, got int"),
        ("moons --seeds x", "seeds must be numbers and ranges"),
        ("moons --seeds 9-0", "seeds must be numbers and ranges"),
        ("moons --engine slurm", "unknown --engine 'slurm'. Known: local"),
        ("moons --jobs 0", "greater than or equal to 1"),
        ("moons --out file", "is a file"),
        ("moons --out file/sub", "Not a directory"),
        ("nosuch.toml", "there is no experiment file nosuch.toml"),
        ("syntax.toml", "cannot read the experiment file syntax.toml"),
        ("bytes.toml", "cannot read the experiment file bytes.toml"),
        ("deep.toml", "cannot read the experiment file deep.toml"),
        ("types.toml", "data must be a name or a section, got int: 3"),
        ("gap.toml", "an experiment needs model"),
        ("word.toml", "cannot use word.csv: line 5, column 'b': expected a number"),
        ("absent.toml", "cannot use nosuch.csv: expected a table, got no such file"),
        ("column.toml", "unknown target 'z'. Known: a, b, y"),
        ("classes.toml", "cannot use one.csv, column 'y': expected two classes or more"),
        ("layout.toml", "expected images, got folders alone, like u (features takes train and test apart)"),
        ("text.toml", "cannot use text.npz: expected an .npz file"),
        ("shape.toml", "cannot use shape.npz"),
        ("empty.toml", "cannot use empty: expected two class folders or more"),
        ("airfoil", "missing file"),
    ],
    "tune": [
        ("moon", "did you mean 'moons'?"),
        ("moons --over x", "--over takes key=v1,v2,..."),
        ("moons --over method.tau_sdt=1,2", "did you mean 'tau_std'?"),
        ("moons --over method.tau_std=2..1", "a range must rise"),
        ("moons --over epochs=0..3", "epochs must be >= 1, got 0"),
        ("moons --set method=erm", "method erm has no tau_std"),
        ("moons --splits x", "splits must be a number up to 10"),
        ("moons --objective rmse", "unknown objective 'rmse'"),
        ("moons --pruner prune", "unknown pruner 'prune'"),
        ("moons --trials 0", "greater than or equal to 1"),
        ("moons --out file/sub", "cannot write into file/sub"),
        ("absent.toml", "cannot use nosuch.csv: expected a table, got no such file"),
        ("airfoil", "missing file"),
    ],
    "evaluate": [
        ("", "Missing argument"),
        ("missing.npz", "missing.npz"),
        ("file", "must be an .npz or .npy file or a folder, got 'file'"),
        ("text.npz", "cannot use text.npz"),
        ("cut.npz", "cannot use cut.npz"),
        ("objects.npz", "an array of Python objects"),
        ("only.npz", "only.npz must hold the array 'targets', got logits"),
        ("nan.npz", "must not hold NaN"),
        ("test.npz --calibration test.npz", "cannot fit on split 'test'"),
        ("test.npz --bins 0", "greater than or equal to 1"),
        ("test.npz --confidence 2", "less than or equal to 0.999"),
        ("test.npz --imitate nothing", "nothing"),
        ("test.npz --binary both", "both"),
        ("test.npz --html no/such/folder/r.html", "no/such/folder"),
        ("test.npz --html empty", "is a directory"),
        ("test.npz --unknown", "No such option"),
    ],
    "report": [
        ("", "Missing argument"),
        ("no/such/folder", "no/such/folder"),
        ("empty", "no run in it"),
        ("half", "half"),
        ("nested", "nested"),
        ("run -o no/such/folder/r.html", "no/such/folder"),
    ],
    "reproduce": [
        ("nosuch", "unknown table 'nosuch'. Known: "),
        ("regresion", "did you mean 'regression'?"),
        ("regression --rows airfoi", "did you mean 'airfoil'?"),
        ("regression --rows airfoil/sk-mixp", "did you mean 'airfoil/sk-mixup'?"),
        ("regression --seeds 9-0", "seeds must be numbers"),
        ("regression --budget tiny", "Known: paper, small"),
        ("regression --protocol relased", "did you mean 'released'?"),
        ("regression --engine slurm", "Known: local"),
        ("syntax.toml", "cannot read the table file syntax.toml"),
        ("deep.toml", "cannot read the table file deep.toml"),
    ],
    "results": [
        ("--folder nosuch", "nosuch"),
        ("--folder empty", "empty"),
        ("--folder results", "half.json is not JSON"),
        ("--folder list", "list.json must be a results file"),
        ("--folder deep", "deep.json is not JSON"),
        ("--study gap.toml", "--study: a study needs title"),
        ("--study nosuch.toml", "--study: there is no study file nosuch.toml"),
    ],
    "features": [
        *(
            (f"{line} --model torch.nn:Identity", message)
            for line, message in [
                ("digit -o f.npz", "unknown data set or folder 'digit'; did you mean 'digits'"),
                ("moons -o f.npz", "features are made of texts or images, and moons holds neither"),
                ("no.csv -o f.npz", "cannot use no.csv: expected a table, got no such file"),
                ("no/such -o f.npz", "expected a data set, a table of texts or a folder of images"),
                ("empty -o f.npz", "expected images, or folders of images, got none"),
                ("table.csv -o f.npz", "unknown column of table.csv 'text'"),
                ("digits -o f.csv", "the file must end in .npz, got 'f.csv'"),
                ("digits -o no/f.npz", "the file must be in a folder that exists"),
                ("digits -o text.npz", "text.npz exists: choose another name, or --force"),
                ("digits -o f.npz --corrupt fogg", "unknown corruption 'fogg'; did you mean 'fog'"),
                ("digits -o f.npz --severities 1,9", "severities must be among (1, 2, 3, 4, 5)"),
                ("digits -o f.npz --set epochs=3", "--set takes options of the data"),
                ("digits -o f.npz --set data.limt=3", "unknown option of digits 'limt'"),
                ("table.csv -o f.npz --set data.limit=3", "unknown option of table.csv 'limit'"),
                ("table.csv -o f.npz --text a --corrupt fog", "corruptions are for the test images"),
                ("clinc150 -o f.npz", "to fix it: tailormix data get clinc150"),
            ]
        ),
        ("digits -o f.npz --model mobilenetv2", "--model mobilenetv2 needs --weights FILE"),
        ("digits -o f.npz --model mobilenetv2 --weights file", "weights must be a file of MobileNetV2"),
        ("digits -o f.npz --model mobilenetv2 --weights bytes.toml", "weights must be a file of MobileNetV2"),
        ("digits -o f.npz --model plug.py", "plug.py:NAME names what is in it"),
        ("digits -o f.npz --model ./nosuch", "from './nosuch': there is no such folder"),
        ("digits -o f.npz --model plug.py:number", "plug-in plug.py:number must be callable, got int"),
        ("digits -o f.npz --model text.pt2", "expected a program of torch.export, got no such file"),
        ("digits -o f.npz", "Missing option '--model'"),
    ],
    "study": [
        ("nosuch", "unknown study 'nosuch'"),
        ("nosuch.toml", "there is no study file nosuch.toml"),
        ("syntax.toml", "cannot read the study file syntax.toml"),
        ("gap.toml", "a study needs title"),
        ("text --data nosuch", "unknown data set 'nosuch'"),
        ("text --rows mixupp", "did you mean 'mixup'?"),
        ("text --seeds 9-0", "seeds must be numbers"),
        ("text --seeds 5000", "must be below 1000, got 5000"),
        ("text --budget 0", "greater than or equal to 1"),
        ("text --add nosuch.py:Mine --rows erm", "nosuch.py"),
        ("text --results file/of/results", "--results file/of/results cannot be made: Not a directory"),
    ],
    "predict": [
        ("run", "Missing argument 'DATA'"),
        ("nosuch new.csv", "nosuch is not the folder of a run"),
        ("empty new.csv", "empty is not the folder of a run"),
        (". new.csv", "it holds the runs half, nested, run: name one of them"),
        ("half new.csv", "half/result.json is not JSON"),
        ("nested new.csv", "nested/result.json is not JSON"),
        ("run new.csv -o no/such/folder/p.csv", "no/such/folder"),
        ("run new.csv -o answers.xyz", "must end in .csv"),
    ],
    "export": [
        ("run", "Missing argument 'FILE'"),
        ("nosuch model.pt2", "nosuch is not the folder of a run"),
        ("run model.xyz", "must end in .pt2"),
        ("run no/such/folder/model.pt2", "no/such/folder"),
    ],
}


@pytest.mark.parametrize(
    ("line", "message"),
    [(f"{command} {rest}".strip(), message) for command, lines in WRONG.items() for rest, message in lines],
)
def test_wrong_commands(line: str, message: str, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    monkeypatch.setenv("TAILORMIX_DATA", str(place / "empty"))
    before = dict(files())
    done = call(*line.split())
    assert done.exit_code == 2, done.output
    assert done.stderr.startswith("error: "), done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    assert message in done.stderr
    assert done.stdout == ""
    assert dict(files()) == before


def files() -> Iterator[tuple[str, float]]:
    """All files here with their times, but for the locks of folders that a run may still take."""
    for folder, _, names in os.walk("."):
        for name in names:
            if name != ".lock":
                path = Path(folder, name)
                yield str(path), path.stat().st_mtime


def test_every_command_is_tried() -> None:
    assert WRONG.keys() - {""} == get_command(app).commands.keys()
