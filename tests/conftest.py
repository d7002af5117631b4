"""Shared by all tests: one thread a worker, and repeatable hypothesis runs."""

import os

import hypothesis
import pytest
import torch

torch.set_num_threads(1)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True, max_examples=50)
hypothesis.settings.register_profile("thorough", deadline=None, max_examples=1000)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.fixture
def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)
