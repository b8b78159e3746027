import pickle

import pytest

from peerfront.foundation.errors import InfeasibleAllocation, MissingExtra, OutputExists, SettingError, UnknownName


@pytest.mark.parametrize(
    "error",
    [
        InfeasibleAllocation("mine", "too much."),
        MissingExtra("Flying", "wings"),
        UnknownName("world", "brigde", ["bridge"]),
        SettingError("No."),
        OutputExists("There."),
    ],
)
def test_errors_survive_the_way_from_a_worker(error) -> None:
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_a_far_name_gets_no_suggestion() -> None:
    assert "Did you mean" not in str(UnknownName("world", "zzzz", ["bridge"]))
    assert "Did you mean 'boom_bust'" in str(UnknownName("world", "Boom-Bust", ["bridge", "boom_bust"]))


def test_a_missing_extra_says_what_to_install() -> None:
    assert str(MissingExtra("The dask backend", "dask")).endswith("pip install 'peerfront[dask]'")
