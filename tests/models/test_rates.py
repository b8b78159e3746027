"""Rates of many people are computed in parts; nobody's depends on where the parts end."""

from itertools import pairwise

import numpy as np
import pytest

from peerfront.models.response import rates
from peerfront.models.response.rates import RateEnsemble, RateShape


def ensemble(hidden: tuple[int, ...], inputs: int, members: int = 3) -> RateEnsemble:
    rng = np.random.default_rng(0)
    widths = [inputs, *hidden, 1]
    return RateEnsemble(
        RateShape(hidden, "softplus"),
        tuple(rng.standard_normal((members, a, b)) for a, b in pairwise(widths)),
        tuple(rng.standard_normal((members, 1, b)) for b in widths[1:]),
        np.zeros((members, 1)),
    )


@pytest.mark.parametrize("hidden", [(), (8, 8)])
@pytest.mark.parametrize("people", [0, 1, 16, 17, 50])
def test_parts_give_the_rates_of_the_whole(
    hidden: tuple[int, ...], people: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    fitted, rows = ensemble(hidden, 6), np.random.default_rng(1).random((people, 6))
    by_member, average = fitted.member_means(rows), fitted.means(rows)
    monkeypatch.setattr(rates, "_AT_ONCE", 16)
    np.testing.assert_allclose(fitted.member_means(rows), by_member, rtol=1e-12)
    np.testing.assert_allclose(fitted.means(rows), average, rtol=1e-12)
    assert by_member.shape == (3, people)
