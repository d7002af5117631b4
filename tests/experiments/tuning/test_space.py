"""What may be searched, and what is refused."""

import pytest

from tailormix.experiments import read
from tailormix.experiments.tuning.space import TAU_STD, Dimension, parse_dimension, search_space


def test_choices_and_ranges() -> None:
    assert parse_dimension("method.alpha=0.2, 0.5,1") == Dimension("method.alpha", (0.2, 0.5, 1))
    assert parse_dimension("method=mixup,sk-mixup").choices == ("mixup", "sk-mixup")
    assert parse_dimension("drop_last=true,false").choices == (True, False)
    assert parse_dimension("method.tau_std=0.1..2") == Dimension("method.tau_std", low=0.1, high=2)
    assert parse_dimension("optimiser.lr=log:1e-4..0.1") == Dimension(
        "optimiser.lr", low=1e-4, high=0.1, log=True
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("method.alpha", "--over takes key=v1,v2"),
        ("=1,2", "--over takes key=v1,v2"),
        ("method.alpha=2..1", "a range must rise"),
        ("method.alpha=log:0..1", "a range must rise, from above 0"),
        ("method.alpha=a..b", "the ends of a range must be numbers"),
        ("model.hidden=[8],[16]", "choices must be numbers, names, true or false"),
    ],
)
def test_wrong_texts(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said.replace("[", r"\[")):
        parse_dimension(text)


def test_the_default_is_the_papers_grid_of_tau_std() -> None:
    assert search_space(read("digits-mlp"), []) == (Dimension("method.tau_std", TAU_STD),)
    assert TAU_STD == (0.25, 0.4, 0.5, 0.6, 0.75, 0.8, 1.0, 1.25, 1.5, 2.0)
    with pytest.raises(ValueError, match=r"--over optimiser\.lr=log"):
        search_space(read("digits-mlp", ["method=erm"]), [])
    with pytest.raises(ValueError, match="name a key once"):
        search_space(read("digits-mlp"), ["epochs=1,2", "epochs=3,4"])
