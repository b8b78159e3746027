"""A study that may stop by itself: the chance, by when, and what new seeds change."""

from dataclasses import replace
from datetime import date

import numpy as np
import pytest

from peerfront.cli.json_output import to_data
from peerfront.study import outlook
from peerfront.study.advice import advise
from peerfront.study.day_simulator import GOES_ON, DayPaths, NewSeeds
from peerfront.study.dying_out import DyingOut, WithSeeds, dying_out
from peerfront.study.outlook import Outlook
from peerfront.study.study_state import Standing
from peerfront.words.outlook_words import dying_lines
from study.small_advice import a_fit, a_frontier, order
from study.small_outlook import advice_by_date
from study.small_standing import a_standing


def paths(stopped: list[int], recruits: list[int] | None = None, ends: tuple[int, ...] = (7, 14, 21)) -> DayPaths:
    """Studies that stop on these days, with so many recruits each."""
    interviews = np.zeros((len(stopped), ends[-1] + 1), np.int64)
    interviews[:, 1] = 0 if recruits is None else recruits
    weeks = np.zeros((len(stopped), len(ends)), np.int64)
    return DayPaths(interviews, weeks, weeks, weeks, weeks, np.array(stopped), ends)


def never(rows: np.ndarray, seeds: NewSeeds) -> DayPaths:
    raise AssertionError("nothing is simulated again")


def test_where_it_is_unlikely_nothing_is_simulated() -> None:
    assert dying_out(paths([GOES_ON] * 19 + [7]), None, 100, 3, never) is None
    assert dying_out(paths([GOES_ON] * 8 + [7] * 2, ends=(7,)), None, 100, 3, never) == DyingOut(
        0.2, 7, None, 3, (), None
    )
    assert dying_out(paths([7, 14]), None, 11, 3, never).with_seeds == (), "two seeds would need six coupons"


def test_the_fewest_seeds_that_are_enough() -> None:
    """Of ten studies four stop; 2, 4 and 8 seeds leave 3, 2 and 0 of them, and bring 1, 2 and 3 people more."""
    plan = paths([GOES_ON] * 6 + [7, 7, 14, 21], [5] * 10)

    def play(rows: np.ndarray, seeds: NewSeeds) -> DayPaths:
        np.testing.assert_array_equal(rows, np.tile(np.arange(10), 3))
        np.testing.assert_array_equal(seeds.number, np.repeat([2, 4, 8], 10))
        assert seeds.coupons == 3
        stop = [each for left in (3, 2, 0) for each in [GOES_ON] * (10 - left) + [21] * left]
        return paths(stop, np.repeat([6, 7, 8], 10).tolist())

    found = dying_out(plan, date(2027, 1, 4), 48, 3, play)
    assert (found.chance, found.steps, found.by, found.coupons) == (0.4, 7, date(2027, 1, 11), 3)
    assert [each.seeds for each in found.with_seeds] == [2, 4, 8]
    assert [each.dies_out for each in found.with_seeds] == pytest.approx([0.3, 0.2, 0.0])
    assert found.enough == WithSeeds(8, 0.0, 3.0, 3.0, 3.0)
    halved = dying_out(plan, None, 24, 3, lambda rows, seeds: paths(([GOES_ON] * 8 + [7] * 2) * 2, [5] * 20))
    assert halved.enough.seeds == 2, "nothing makes it unlikely, but two seeds halve it"
    useless = dying_out(plan, None, 24, 3, lambda rows, seeds: paths(plan.stopped.tolist() * 2, [5] * 20))
    assert useless.enough is None
    assert useless.with_seeds[-1] == WithSeeds(4, 0.4, 0.0, 0.0, 0.0)


@pytest.fixture(scope="module")
def few() -> Outlook:
    """One person waits, and 15 coupons are left."""
    return advice_by_date(a_standing(waiting=1, holders=0), studies=120).outlook


def test_few_people_may_stop_and_seeds_help(few: Outlook) -> None:
    dying = few.dying_out
    assert dying.chance == few.of_plan["dies_out"] > 0.1
    assert 0 < dying.steps <= few.horizon.days
    assert (dying.by - few.today).days == dying.steps
    assert [each.seeds for each in dying.with_seeds] == [2], "each gets three of at most half of the 15 coupons"
    chances = [dying.chance, *(each.dies_out for each in dying.with_seeds)]
    assert chances == sorted(chances, reverse=True)
    assert dying.with_seeds[-1].dies_out < 0.8 * dying.chance
    assert 0 < dying.with_seeds[0].recruits <= 15
    assert dying.with_seeds[0].p10 <= dying.with_seeds[0].recruits <= dying.with_seeds[0].p90


def test_by_rounds_there_is_no_day() -> None:
    few = advise(a_fit(), Standing.by_rounds(a_frontier(1)), order(), studies=100).outlook.dying_out
    assert few.by is None
    assert 1 <= few.steps <= 4
    assert few.with_seeds


def test_the_same_order_gives_the_same_seeds_and_many_people_need_none(few: Outlook) -> None:
    again = advice_by_date(a_standing(waiting=1, holders=0), studies=120).outlook
    assert again.dying_out == few.dying_out
    assert advice_by_date(a_standing(waiting=20), studies=60).outlook.dying_out is None


def test_wider_bands_are_no_people_whom_seeds_bring(few: Outlook, monkeypatch) -> None:
    monkeypatch.setattr(outlook, "widened", lambda paths, wider: replace(paths, interviews=2 * paths.interviews))
    wider = advice_by_date(a_standing(waiting=1, holders=0), studies=120).outlook
    assert wider.of_plan["recruits"] == 2 * few.of_plan["recruits"]
    assert wider.dying_out == few.dying_out


# Words -----------------------------------------------------------------------------------------------------------


def said(about: Outlook, dying: DyingOut | None) -> str:
    return "\n".join(map(str, dying_lines(replace(about, dying_out=dying))))


def test_a_line_says_how_many_seeds_mend_it(few: Outlook) -> None:
    two, four = WithSeeds(2, 0.12, 7.6, 0.0, 15.0), WithSeeds(4, 0.06, 12.3, 2.0, 20.0)
    dying = DyingOut(0.35, 36, date(2027, 8, 12), 3, (two, four), four)
    line = "Chance that the study stops by itself: 35%, half of it by 12 August 2027."
    assert said(few, dying) == line + " With 4 new seeds: 6%, and 12 people more."
    assert said(few, replace(dying, enough=None)) == said(few, dying), "the most that were tried"
    assert said(few, replace(dying, with_seeds=(), enough=None)) == "", "hardly any coupons"
    assert "half of it in 2 rounds." in said(few, replace(dying, steps=2, by=None))
    assert said(few, replace(dying, enough=replace(four, recruits=0.4))) == "", "seeds that bring nobody"
    assert said(few, None) == ""
    shown = replace(few, dying_out=dying)
    assert line in str(shown)
    details = [str(each) for each in shown.details()]
    assert "  4 seeds: 6%, +12 people (+2 to +20)" in details
    assert not any("while coupons are left" in each for each in details), "said once"


def test_every_view_says_it(few: Outlook) -> None:
    sheet = advice_by_date(a_standing(waiting=1, holders=0), studies=60).sheet
    line = str(dying_lines(sheet.outlook)[0])
    assert line in str(sheet)
    nobody_waits = advice_by_date(a_standing(waiting=0), studies=60)
    assert str(dying_lines(nobody_waits.outlook)[0]) in str(nobody_waits.sheet)
    assert few.tables["seeds.csv"]["seeds"].tolist() == [2]
    assert to_data(few)["dying_out"]["with_seeds"][0]["seeds"] == 2
