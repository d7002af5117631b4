"""Ctrl-C in front of several processes: each hears of it once, and ends by itself."""

import signal
import subprocess
import sys
import time
from pathlib import Path

WORKER = """
import pathlib, sys, time
here = pathlib.Path({folder!r}) / f"alive-{{sys.argv[-1]}}"
here.touch()
try:
    time.sleep(60)
except KeyboardInterrupt:
    here.rename(here.with_name(here.name.replace("alive", "heard")))
"""
PARENT = """
import pathlib
from tailormix.experiments.tuning import study
study.PROGRAM, study.PAUSE = {worker!r}, 0.05
told, failed = study.work_together(["x"], 2, pathlib.Path({folder!r}), lambda: None)
print(told, failed)
"""


def wait_for(folder: Path, names: set[str]) -> None:
    end = time.monotonic() + 60
    while not names <= {path.name for path in folder.iterdir()}:
        assert time.monotonic() < end, sorted(folder.iterdir())
        time.sleep(0.05)


def test_every_process_hears_of_ctrl_c_once(tmp_path: Path) -> None:
    worker = WORKER.format(folder=str(tmp_path))
    code = PARENT.format(worker=worker, folder=str(tmp_path))
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    wait_for(tmp_path, {"alive-1", "alive-2"})
    parent.send_signal(signal.SIGINT)
    said, _ = parent.communicate(timeout=60)
    assert said.strip() == "True []"
    wait_for(tmp_path, {"heard-1", "heard-2"})
