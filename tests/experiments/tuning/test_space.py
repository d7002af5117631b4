"""What may be searched, and what is refused."""

import pytest

from tailormix.experiments import read
from tailormix.experiments.experiment import SETTINGS
from tailormix.experiments.tuning.objective import Protocol, changed, protocol_of
from tailormix.experiments.tuning.space import TAU_STD, Dimension, dimension, space_of
from tailormix.experiments.tuning.study import Search


def test_choices_and_ranges() -> None:
    assert dimension("method.alpha=0.2, 0.5,1") == Dimension("method.alpha", (0.2, 0.5, 1))
    assert dimension("method=mixup,sk-mixup").choices == ("mixup", "sk-mixup")
    assert dimension("drop_last=true,false").choices == (True, False)
    assert dimension("method.tau_std=0.1..2") == Dimension("method.tau_std", low=0.1, high=2)
    assert dimension("optimiser.lr=log:1e-4..0.1") == Dimension("optimiser.lr", low=1e-4, high=0.1, log=True)


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
        dimension(text)


def test_the_default_is_the_papers_grid_of_tau_std() -> None:
    assert space_of(read("digits-mlp"), []) == (Dimension("method.tau_std", TAU_STD),)
    assert TAU_STD == (0.25, 0.4, 0.5, 0.6, 0.75, 0.8, 1.0, 1.25, 1.5, 2.0)
    with pytest.raises(ValueError, match=r"--over optimiser\.lr=log"):
        space_of(read("digits-mlp", ["method=erm"]), [])
    with pytest.raises(ValueError, match="name a key once"):
        space_of(read("digits-mlp"), ["epochs=1,2", "epochs=3,4"])


def search(*over: str) -> Search:
    return Search("digits-mlp", (), tuple(map(dimension, over)), ("1/10",), "nll")


def test_unknown_keys_fail_before_any_work() -> None:
    with pytest.raises(ValueError, match="did you mean 'tau_std'"):
        search("method.tau_sdt=1,2").check()
    with pytest.raises(ValueError, match="epochs must be >= 1"):
        search("epochs=0..3").check()


def test_own_values_are_those_of_the_file_or_the_methods_defaults() -> None:
    assert search("method.tau_std=0.1..1", "epochs=1..30").own_values() == {
        "method.tau_std": 0.25,
        "epochs": 20,
    }
    assert search("method=sk-mixup,mixup").own_values() == {"method": "sk-mixup"}
    assert search("method.tau_std=0.5..1").own_values() is None


def test_another_search_is_another_study() -> None:
    names = {
        search("epochs=1,2").study,
        search("epochs=1,3").study,
        Search("digits-mlp", (), (dimension("epochs=1,2"),), ("1/5",), "nll").study,
        Search("digits-mlp", ("seed=1",), (dimension("epochs=1,2"),), ("1/10",), "nll").study,
    }
    assert len(names) == 4
    assert search("epochs=1,2").study in names


def test_no_fold_looks_at_test_rows_whatever_the_experiment_says() -> None:
    """Selection on test rows, as released, and further test sets: every such setting is left out."""
    named = {"imitate": "imitate=released-protocol", "also": 'also=["cifar10-c"]'}
    settings = tuple(text for key, text in named.items() if key in SETTINGS)
    wanted = Search("digits-mlp", settings, (dimension("epochs=1,2"),), ("1/10",), "nll")
    assert wanted.experiment({}, "1/10").training == read("digits-mlp").training


def test_the_papers_protocol() -> None:
    assert protocol_of(read("moons")) == Protocol("classification", 4, 10)
    assert protocol_of(read("moons"), "2/5").names == ("1/5", "2/5")
    for wrong in ("0", "11", "3/2", "x", "1/1"):
        with pytest.raises(ValueError, match="splits must be a number up to 10, or like 4/10"):
            changed(Protocol("classification", 4, 10), wrong)
