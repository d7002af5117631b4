"""Shared by all tests: one thread a worker, repeatable hypothesis runs, and little garbage collection."""

import gc
import os

import hypothesis
import pytest
import torch

torch.set_num_threads(1)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True, max_examples=50)
hypothesis.settings.register_profile("thorough", deadline=None, max_examples=1000)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def pytest_collection_finish() -> None:
    """Keep imported objects out of garbage collection: every pass over all of torch takes time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


@pytest.fixture
def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)
