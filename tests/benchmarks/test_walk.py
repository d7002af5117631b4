"""The walk of one batch stays within its budget."""

import pytest
from benchmarks.walk import BUDGETS, Walk, walks


@pytest.fixture(scope="module")
def found() -> dict[str, Walk]:
    return walks()


@pytest.mark.parametrize("name", BUDGETS)
def test_frames_files_and_changes_of_file_are_within_the_budget(name: str, found: dict[str, Walk]) -> None:
    for what, count, most in zip(
        ("frames", "files", "changes of file"), found[name].counts, BUDGETS[name], strict=True
    ):
        assert 0 < count <= most, f"{count} {what}, at most {most}"


def test_the_equations_are_on_the_way(found: dict[str, Walk]) -> None:
    for each in found.values():
        functions = [function for _, function in each.frames]
        assert all(functions.count(name) == 1 for name in ("pair_distance", "similarity_kernel", "warp"))
