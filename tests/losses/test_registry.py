"""The dictionary of losses, and what ``build`` makes and refuses."""

from __future__ import annotations

import pytest
from torch import nn

import tailormix.losses
from tailormix.losses import CRL, LOSSES, CrossEntropy, build


def test_dictionary_names_every_public_loss() -> None:
    public = [getattr(tailormix.losses, name) for name in tailormix.losses.__all__]
    classes = {each for each in public if isinstance(each, type) and issubclass(each, nn.Module)}
    assert {record.criterion for record in LOSSES.values()} == classes
    assert len(LOSSES) == len(classes)


def test_arguments_are_those_of_the_class() -> None:
    assert LOSSES["flsd"].defaults == {"gamma": 3.0, "gamma_unsure": 5.0, "threshold": 0.2}
    assert LOSSES["crl"].required == ("size",)
    assert LOSSES["crl"].defaults == {"weight": 1.0, "group": None}
    assert (LOSSES["ce"].required, LOSSES["ce"].defaults) == ((), {})


def test_crl_alone_takes_class_indices_only() -> None:
    assert [name for name, record in LOSSES.items() if not record.soft_targets] == ["crl"]


def test_build() -> None:
    assert type(build("ce")) is CrossEntropy
    assert type(build("crl", size=3)) is CRL
    assert build("focal", gamma=2.0).gamma == 2.0


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("mmce_w", {}, r"unknown loss 'mmce_w'; did you mean 'mmce-w'\?"),
        ("focal", {"gama": 2.0}, r"argument of loss 'focal' 'gama'; did you mean 'gamma'\? Known: gamma"),
        ("ce", {"alpha": 0.1}, r"unknown argument of loss 'ce' 'alpha'. Known: \(none\)"),
        ("ls", {"alpha": 2.0}, r"alpha must lie in \[0, 1\], got 2.0"),
    ],
)
def test_build_refuses(name: str, arguments: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build(name, **arguments)


def test_build_names_what_is_missing() -> None:
    with pytest.raises(TypeError, match="size"):
        build("crl")
