"""The dictionary of losses, and what ``build`` makes and refuses."""

from __future__ import annotations

import pytest
from torch import nn

from tailormix import losses
from tailormix.losses import CRL, LOSSES, build


def test_every_public_loss_is_in_the_dictionary() -> None:
    classes = {each for each in map(losses.__dict__.get, losses.__all__) if isinstance(each, type)}
    criteria = {each for each in classes if issubclass(each, nn.Module)}
    assert criteria == {record.criterion for record in LOSSES.values()}


def test_arguments_are_those_of_the_class() -> None:
    assert LOSSES["flsd"].defaults == {"gamma": 3.0, "gamma_unsure": 5.0, "threshold": 0.2}
    assert (LOSSES["crl"].required, LOSSES["crl"].defaults) == (("size",), {"weight": 1.0, "group": None})
    assert (LOSSES["ce"].required, LOSSES["ce"].defaults) == ((), {})
    assert [name for name, record in LOSSES.items() if not record.soft_targets] == ["crl"]
    assert type(build("crl", size=3)) is CRL
    assert build("focal", gamma=2.0).gamma == 2.0


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("mmce_w", {}, r"unknown loss 'mmce_w'; did you mean 'mmce-w'\?"),
        ("focal", {"gama": 2.0}, r"argument of loss 'focal' 'gama'; did you mean 'gamma'\? Known: gamma"),
        ("ce", {"alpha": 0.1}, r"unknown argument of loss 'ce' 'alpha'. Known: \(none\)"),
        ("crl", {}, "size"),
    ],
)
def test_build_refuses(name: str, arguments: dict[str, float], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        build(name, **arguments)
