"""Dates as people read them, in sentences and along the axis of a picture."""

from datetime import date

from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, num2date
from matplotlib.ticker import FuncFormatter, MaxNLocator

from peerfront.words.language import Text, say


def long_date(day: date) -> Text:
    """5 March 2027."""
    return say("{day} {month} {year}", day=day.day, month=_months()[day.month - 1], year=day.year)


def iso_date(text: str) -> Text:
    """The same of 2027-03-05."""
    return long_date(date.fromisoformat(text))


def _months() -> list[Text]:
    return [
        say("January"),
        say("February"),
        say("March"),
        say("April"),
        say("May"),
        say("June"),
        say("July"),
        say("August"),
        say("September"),
        say("October"),
        say("November"),
        say("December"),
    ]


def by_date(axis: Axes, narrow: bool) -> None:
    """Dates below, whole people at the left."""
    axis.grid(alpha=0.3)
    axis.xaxis.set_major_locator(AutoDateLocator(minticks=3, maxticks=5 if narrow else 7))  # type: ignore[no-untyped-call]
    low, high = (num2date(end) for end in axis.get_xlim())  # type: ignore[no-untyped-call]
    axis.xaxis.set_major_formatter(FuncFormatter(lambda place, _: _day_and_month(place)))
    years = say("{first} to {last}", first=low.year, last=high.year)
    axis.set_xlabel(f"{low.year}" if low.year == high.year else str(years))
    axis.yaxis.set_major_locator(MaxNLocator(integer=True))


def _day_and_month(place: float) -> str:
    day = num2date(place)  # type: ignore[no-untyped-call]
    return str(say("{day} {month}", day=day.day, month=_short_months()[day.month - 1]))


def _short_months() -> list[Text]:
    return [
        say("Jan"),
        say("Feb"),
        say("Mar"),
        say("Apr"),
        say("May"),
        say("Jun"),
        say("Jul"),
        say("Aug"),
        say("Sep"),
        say("Oct"),
        say("Nov"),
        say("Dec"),
    ]
