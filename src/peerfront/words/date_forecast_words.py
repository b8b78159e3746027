"""Forecasts by date in words: where the study stands, the weeks to come, the date of the target."""

from peerfront.study.date_forecast import PLAN, DateForecast
from peerfront.words.calendar_words import iso_date, long_date
from peerfront.words.forecast_words import band_text, chance_text, lead_text
from peerfront.words.language import Text, joined, n_coupons, n_people, say
from peerfront.words.result_table import ResultTable

_MILESTONES = 14, 28
_LONG_QUEUE = 0.5


def date_forecast_lines(forecast: DateForecast) -> list[object]:
    """Where the study stands, the next weeks, the target, the queue, and how the rival does."""
    stands = say(
        "On {today}: {waiting} waiting for coupons, {left} left to give out, {open} in people's hands.",
        today=long_date(forecast.today),
        waiting=n_people(forecast.waiting),
        left=n_coupons(forecast.budget),
        open=n_coupons(forecast.in_hand),
    )
    if forecast.in_hand:
        used = say(
            "Of the open coupons about {used:.0f} will be used by {until}.",
            used=forecast.from_open,
            until=long_date(forecast.until),
        )
        stands = joined([stands, used])
    own = forecast.weeks[forecast.weeks["policy"] == PLAN].to_dict("records")
    milestones = [row for row in own if row["days"] in _MILESTONES or row is own[-1]]
    lines: list[object] = [
        stands,
        *(
            say(
                "By {day} the plan brings {total:.0f} more (8 of 10: {low:.0f} to {high:.0f}).",
                day=iso_date(row["until"]),
                total=row["total"],
                low=row["total_p10"],
                high=row["total_p90"],
            )
            for row in milestones
        ),
    ]
    if forecast.target is not None:
        lines.append(_target_date_line(forecast))
    lines += _queue_lines(forecast)
    for row in forecast.summary.iloc[1:].to_dict("records"):
        rival = say(
            "{rule}: {recruits:.0f} more ({low:.0f} to {high:.0f}).",
            rule=row["described"],
            recruits=row["recruits"],
            low=row["p10"],
            high=row["p90"],
        )
        chance = chance_text(row["reaches_target"])
        target = say("Target: {chance}.", chance=chance) if forecast.still_wanted else ""
        lines.append(joined([rival, target, lead_text(row["plan_lead"], row["plan_lead_error"])]))
    return [*lines, *forecast.notes, date_caveat()]


def _target_date_line(forecast: DateForecast) -> Text:
    """When the target is reached, as far as simulated studies get there."""
    plan, wanted, target = forecast.of_plan, forecast.still_wanted, forecast.target
    if not wanted:
        return say("The target of {target:,} is reached already.", target=target)
    chance, middle = chance_text(float(plan["reaches_target"])), str(plan["target_date"])
    if not middle:
        return say(
            "The target of {target:,} ({wanted:,} to come) is reached by the deadline, {until}, in {chance}.",
            target=target,
            wanted=wanted,
            until=long_date(forecast.until),
            chance=chance,
        )
    early, late = str(plan["target_p25"]), str(plan["target_p75"])
    if early == late:
        return say(
            "The target of {target:,} ({wanted:,} to come) is reached on {day} in at least half of the simulated "
            "studies; by the deadline in {chance}.",
            target=target,
            wanted=wanted,
            day=iso_date(middle),
            chance=chance,
        )
    return say(
        "The target of {target:,} ({wanted:,} to come) is reached on {day} (half of the simulated studies between "
        "{early} and {late}); by the deadline in {chance}.",
        target=target,
        wanted=wanted,
        day=iso_date(middle),
        early=iso_date(early),
        late=iso_date(late) if late else say("a day after the deadline"),
        chance=chance,
    )


def _queue_lines(forecast: DateForecast) -> list[Text]:
    if forecast.interviews_per_week is None:
        return []
    own = forecast.weeks[forecast.weeks["policy"] == PLAN].to_dict("records")
    longest = max(own, key=lambda row: float(row["queue"]))
    if longest["queue"] < _LONG_QUEUE:
        enough = say(
            "{limit:g} interviews a week are enough: hardly anybody waits for one.", limit=forecast.interviews_per_week
        )
        return [enough]
    return [
        say(
            "With {limit:g} interviews a week people queue: about {longest:.0f} wait for theirs on {day}, and "
            "{at_end:.0f} at the deadline. Coupons that were presented in time count.",
            limit=forecast.interviews_per_week,
            longest=longest["queue"],
            day=iso_date(longest["until"]),
            at_end=own[-1]["queue"],
        )
    ]


def date_caveat() -> Text:
    """What the bands of a forecast by date hold and what they do not."""
    return say(
        "The bands hold luck, and what the data leave open about how many people bring and when they return. Not in "
        "them: a model that is wrong in kind, and people or staff who change during the study (a back-test shows how "
        "such forecasts fared)."
    )


def date_forecast_tables(forecast: DateForecast) -> list[ResultTable]:
    """The plan's weeks."""
    own = forecast.weeks[forecast.weeks["policy"] == PLAN]
    queues = forecast.interviews_per_week is not None
    headings = [say("until"), say("given"), say("interviews"), say("8 of 10"), say("in all"), say("8 of 10")]
    rows = []
    for row in own.to_dict("records"):
        in_all, low, high = (forecast.already + row[name] for name in ("total", "total_p10", "total_p90"))
        cells = [
            str(row["until"]),
            f"{row['spent']:.1f}",
            f"{row['interviews']:.1f}",
            band_text(row["p10"], row["p90"]),
            f"{in_all:.1f}",
            band_text(low, high),
            f"{row['open']:.1f}",
        ]
        rows.append((*cells, f"{row['queue']:.1f}") if queues else tuple(cells))
    table = ResultTable(
        say("The plan, week by week"),
        (*headings, say("open"), say("queue")) if queues else (*headings, say("open")),
        tuple(rows),
        caption=say("given: coupons at the week's start; open: coupons at its end"),
    )
    return [table]
