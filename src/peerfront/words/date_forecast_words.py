"""Forecasts by date in words: the state of the study, the weeks to come, the date of the target."""

from datetime import date

from peerfront.study.date_forecast import PLAN, DateForecast
from peerfront.words.forecast_words import band_text, chance_text, gain_lines, policies_table
from peerfront.words.language import Text, joined, n_coupons, n_people, say
from peerfront.words.result_table import ResultTable

_MILESTONES = 14, 28
_LONG_QUEUE = 0.5


def date_forecast_lines(forecast: DateForecast) -> list[object]:
    """The state of the study, the next weeks, the target, the queue, and what the plan gains."""
    stands = say(
        "On {today}: {waiting} waiting for coupons, {left} left to give out, {open} in people's hands.",
        today=long_date(forecast.today),
        waiting=n_people(forecast.waiting),
        left=n_coupons(forecast.budget),
        open=n_coupons(forecast.in_hand),
    )
    if forecast.in_hand:
        until = long_date(forecast.until)
        used = say("Of the open coupons about {n:.0f} will be used by {until}.", n=forecast.from_open, until=until)
        stands = joined([stands, used])
    own = forecast.weeks[forecast.weeks["policy"] == PLAN].to_dict("records")
    weeks = [
        say(
            "By {day} the plan brings {total:.0f} more (8 of 10: {low:.0f} to {high:.0f}).",
            day=_iso_date(row["until"]),
            total=row["total"],
            low=row["total_p10"],
            high=row["total_p90"],
        )
        for row in own
        if row["days"] in _MILESTONES or row is own[-1]
    ]
    target = [] if forecast.target is None else [_target_line(forecast)]
    caveat = say(
        "The bands include luck, and what the data leave open about how many people bring and when they return. Not in "
        "them: a model that is wrong in kind, and people or staff who change during the study (a back-test shows how "
        "such forecasts fared)."
    )
    return [stands, *weeks, *target, *_queue_lines(forecast), *gain_lines(forecast.gains), *forecast.notes, caveat]


def _target_line(forecast: DateForecast) -> Text:
    """When the target is reached, if enough simulated studies reach it."""
    plan, wanted = forecast.of_plan, forecast.still_wanted
    if not wanted:
        return say("The target of {target:,} is reached already.", target=forecast.target)
    middle, early, late = (str(plan[name]) for name in ("target_date", "target_p25", "target_p75"))
    values = {"target": forecast.target, "wanted": wanted, "chance": chance_text(float(plan["reaches_target"]))}
    if not middle:
        return say(
            "The target of {target:,} ({wanted:,} to come) is reached by the deadline, {until}, in {chance}.",
            **values,
            until=long_date(forecast.until),
        )
    return say(
        "The target of {target:,} ({wanted:,} to come) is reached on {day} (half of the simulated studies between "
        "{early} and {late}); by the deadline in {chance}.",
        **values,
        day=_iso_date(middle),
        early=_iso_date(early),
        late=_iso_date(late) if late else say("a day after the deadline"),
    )


def _queue_lines(forecast: DateForecast) -> list[Text]:
    limit = forecast.interviews_per_week
    if limit is None:
        return []
    own = forecast.weeks[forecast.weeks["policy"] == PLAN].to_dict("records")
    longest = max(own, key=lambda row: float(row["queue"]))
    if longest["queue"] < _LONG_QUEUE:
        return [say("{limit:g} interviews a week are enough: hardly anybody waits for one.", limit=limit)]
    return [
        say(
            "With {limit:g} interviews a week people queue: about {longest:.0f} wait for theirs on {day}, and "
            "{at_end:.0f} at the deadline. Coupons that were presented in time count.",
            limit=limit,
            longest=longest["queue"],
            day=_iso_date(longest["until"]),
            at_end=own[-1]["queue"],
        )
    ]


def date_forecast_tables(forecast: DateForecast) -> list[ResultTable]:
    """The plan's weeks, and the plan beside its rivals."""
    own = forecast.weeks[forecast.weeks["policy"] == PLAN]
    queues = forecast.interviews_per_week is not None
    headings = (
        say("until"), say("given"), say("interviews"), say("8 of 10"), say("in all"), say("8 of 10"), say("open"),
        *([say("queue")] if queues else []),
    )  # fmt: skip
    rows = []
    for row in own.to_dict("records"):
        in_all, low, high = (forecast.already + row[name] for name in ("total", "total_p10", "total_p90"))
        cells = (
            str(row["until"]), f"{row['spent']:.1f}", f"{row['interviews']:.1f}", band_text(row["p10"], row["p90"]),
            f"{in_all:.1f}", band_text(low, high), f"{row['open']:.1f}",
        )  # fmt: skip
        rows.append((*cells, f"{row['queue']:.1f}") if queues else cells)
    caption = say("given: coupons at the week's start; open: coupons at its end")
    weeks = ResultTable(say("The plan, week by week"), headings, tuple(rows), caption=caption)
    return [weeks, policies_table(forecast)]


def long_date(day: date) -> Text:
    """A date such as 5 March 2027."""
    months = (
        say("January"), say("February"), say("March"), say("April"), say("May"), say("June"),
        say("July"), say("August"), say("September"), say("October"), say("November"), say("December"),
    )  # fmt: skip
    return say("{day} {month} {year}", day=day.day, month=months[day.month - 1], year=day.year)


def _iso_date(text: str) -> Text:
    return long_date(date.fromisoformat(text))
