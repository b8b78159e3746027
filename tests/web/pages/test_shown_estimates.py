"""Estimates as pages show them: one advised row for each answer, numbers as people read them."""

import django
import pytest
from django.conf import settings

from peerfront.web.pages.shown_estimates import shown_outcomes


@pytest.fixture(autouse=True)
def _configured() -> None:
    if not settings.configured:
        settings.configure(USE_I18N=False)
        django.setup()


def row(what="yes", estimate=0.31, low=0.25, high=0.37, *, best=True, group="", bias=None) -> dict:
    return {"what": what, "group": group, "estimator": "RDS-II", "best": best, "estimate": estimate, "low": low,
            "high": high, "likely_bias": bias, "valid": best, "why": ""}  # fmt: skip


def shown(*rows: dict, numeric=False) -> dict:
    (one,) = shown_outcomes([{"outcome": "hiv", "numeric": numeric, "rows": list(rows)}])
    return one


def test_of_two_answers_one_is_shown_and_other_estimators_are_apart() -> None:
    one = shown(row("no", 0.69), row("yes"), row("no", best=False), row("yes", best=False), row(group="women"))
    assert [(each["what"], each["estimate"], each["interval"]) for each in one["rows"]] == [
        ("yes", "31%", "25% to 37%")
    ]
    assert (len(one["others"]), len(one["groups"]), one["has_groups"]) == (2, 1, True)


def test_of_three_answers_each_is_shown() -> None:
    assert [each["what"] for each in shown(row("a"), row("b"), row("c"))["rows"]] == ["a", "b", "c"]


def test_numbers_have_as_many_digits_as_they_are_sure() -> None:
    narrow = shown(row(estimate=0.0123, low=0.01, high=0.02, bias=0.004))["rows"][0]
    assert (narrow["estimate"], narrow["interval"], narrow["bias"]) == ("1.2%", "1.0% to 2.0%", "+0.4%")
    mean = shown(row("", 4.5, 4.125, 5.0), numeric=True)["rows"][0]
    assert (mean["what"], mean["estimate"], mean["interval"]) == ("Mean", "4.50", "4.12 to 5.00")
    assert shown(row(low=None, high=None))["rows"][0]["interval"] == ""
