"""Progress: people by date with what was expected, arrivals, waves, what a coupon brings, coupons left."""

import csv
import io
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from datetime import date
from pathlib import Path

from django.conf import settings as django_settings
from django.db import connection
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import get_language, gettext

from peerfront.web.live.folder import LiveFolder
from peerfront.web.live.records.database import DatabaseRecords
from peerfront.web.live.records.models import Event
from peerfront.web.live.rules.actions import Action
from peerfront.web.live.rules.records import StudyRow
from peerfront.web.live.screens.charts import Band, Bars, DayCurve, bars, day_curve
from peerfront.web.live.screens.coupon_board import CouponState
from peerfront.web.live.screens.page_frame import site_filter, sites_in_sight, study_or_404, today_of
from peerfront.web.live.screens.progress_numbers import FEWEST_COUPONS, Standing, standings

PICTURES = ("people", "weeks", "waves", "returns")
_MOST_KEPT = 64
_LARGE, _LARGE_KEPT = 20_000, 60.0  # from this number of coupons on, numbers may be this many seconds old
_large: dict[str, tuple[float, date, dict[str | None, Standing]]] = {}
_kept: OrderedDict[tuple[object, ...], object] = OrderedDict()
_lock = threading.Lock()


def progress(request: HttpRequest) -> HttpResponse:
    """Show how far the study or one of its sites is, with each picture's numbers as a table."""
    study = study_or_404()
    today = today_of(study)
    site = site_filter(request, Action.SEE_PROGRESS)
    now = _standing(study, today, site)
    band = None if site is not None else forecast_of(study)
    plan = None if study.approved_plan is None else DatabaseRecords().plan(study.approved_plan)
    settings = study.settings
    sites = sites_in_sight(request, Action.SEE_PROGRESS)
    return render(
        request,
        "screens/progress.html",
        {
            "now": now,
            "site": site,
            "site_choices": sites,
            "query": f"?site={site}" if site else "",
            "target": settings.target if site is None else None,
            "deadline": settings.deadline,
            "days_left": None if settings.deadline is None else (settings.deadline - today).days,
            "this_week": now.weeks[-1].came if now.weeks else 0,
            "weeks": now.weeks[::-1],
            "kept": study.kept,
            "budget": settings.budget,
            "promised": 0 if plan is None else plan.promised,
            "open": now.coupons[CouponState.OPEN] + now.coupons[CouponState.NOT_YET],
            "expired": now.coupons[CouponState.EXPIRED],
            "used": now.coupons[CouponState.USED],
            "share_used": _percent(now.share_used),
            "returns": [(each, _percent(each.share)) for each in now.returns],
            "forecast": [] if band is None else list(zip(band.days, band.expected, band.low, band.high, strict=True)),
            "by_site": [_standing(study, today, each) for each in sites] if site is None and len(sites) > 1 else [],
            "fewest": FEWEST_COUPONS,
        },
    )


def progress_picture(request: HttpRequest, name: str) -> HttpResponse:
    """One of the pictures as a file; it is drawn once for what is recorded now."""
    if name not in PICTURES:
        raise Http404
    study = study_or_404()
    site = site_filter(request, Action.SEE_PROGRESS)
    today = today_of(study)
    key = (name, site, *_state(today), get_language(), _stamp(_forecast_file(study)))
    picture = _remembered(key, lambda: _drawn(name, study, today, site))
    return HttpResponse(str(picture), content_type="image/svg+xml")


def forecast_of(study: StudyRow) -> Band | None:
    """What the approved plan expects by date, or the newest before any is approved; None if there is no forecast."""
    path = _forecast_file(study)
    if path is None:
        return None
    try:
        rows = list(csv.DictReader(io.StringIO(path.read_text("utf-8-sig"))))
        return Band(
            tuple(date.fromisoformat(row["date"]) for row in rows),
            *(tuple(float(row[name]) for row in rows) for name in ("expected", "low", "high")),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _forecast_file(study: StudyRow) -> Path | None:
    """The forecast beside the model of the approved plan, or of the newest one before any is approved."""
    folder: LiveFolder | None = django_settings.LIVE_FOLDER
    number = study.approved_plan or study.last_plan
    plan = DatabaseRecords().plan(number) if number else None
    if folder is None or plan is None:
        return None
    models = folder.models.resolve()
    path = (models / plan.model / "forecast.csv").resolve()
    return path if path.is_relative_to(models) and path.is_file() else None


def _drawn(name: str, study: StudyRow, today: date, site: str | None) -> str:
    now = _standing(study, today, site)
    beside = gettext("The table beside the picture has the same numbers.")
    match name:
        case "people":
            return _people_curve(study, now, today, site, beside)
        case "weeks":
            labels = tuple(week.monday.isoformat()[5:] for week in now.weeks)
            numbers = tuple(float(week.came) for week in now.weeks)
            title = _at_site(gettext("People who came, by week"), now)
            return bars(Bars(title, beside, labels, numbers, gettext("Week that begins on (month-day)")))
        case "waves":
            labels = tuple(str(wave) for wave, _ in now.waves)
            numbers = tuple(float(number) for _, number in now.waves)
            title = _at_site(gettext("People by wave"), now)
            return bars(Bars(title, beside, labels, numbers, gettext("Wave; seeds are 0")))
    labels = tuple(str(each.age) for each in now.returns)
    title = _at_site(gettext("Share of coupons used, by days since they were handed out"), now)
    numbers = tuple(each.share for each in now.returns)
    return bars(Bars(title, beside, labels, numbers, gettext("Days since the coupon was handed out"), shares=True))


def _people_curve(study: StudyRow, now: Standing, today: date, site: str | None, beside: str) -> str:
    settings = study.settings
    days = [*now.days, *([(today, now.people)] if now.days and now.days[-1][0] < today else [])] or [(today, 0)]
    whole = site is None
    return day_curve(
        DayCurve(
            title=_at_site(gettext("People who take part, by date"), now),
            description=beside,
            line_words=gettext("People who take part"),
            days=tuple(day for day, _ in days),
            numbers=tuple(float(number) for _, number in days),
            band=forecast_of(study) if whole else None,
            band_words=gettext("Expected; 8 of 10 simulated studies lie in the band"),
            target=None if settings.target is None or not whole else float(settings.target),
            target_words=gettext("Target: %(target)s") % {"target": settings.target},
            deadline=settings.deadline,
            deadline_words=gettext("Last day: %(day)s") % {"day": settings.deadline},
        )
    )


def _at_site(title: str, now: Standing) -> str:
    return gettext("%(title)s (%(site)s)") % {"title": title, "site": now.name} if now.name else title


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.0f}\u00a0%"


def _standing(study: StudyRow, today: date, site: str | None) -> Standing:
    """Numbers of what is recorded now; those of a large study, which take seconds, may be a minute old."""
    database, now = str(connection.settings_dict["NAME"]), time.monotonic()
    large = _large.get(database)
    if large is None or large[1] != today or now - large[0] > _LARGE_KEPT or site not in large[2]:
        numbers = _remembered(("numbers", *_state(today)), lambda: standings(study, today))
        assert isinstance(numbers, dict)
        large = (now, today, numbers)
        if numbers[None].handed_out > _LARGE:
            _large[database] = large
    standing: Standing = large[2][site]
    return standing


def _state(today: date) -> tuple[object, ...]:
    """What numbers and pictures depend on: all that is recorded (the last hash of the chain), and the day."""
    return Event.objects.order_by("-number").values_list("hash", flat=True).first(), today


def _stamp(path: Path | None) -> float | None:
    return None if path is None else path.stat().st_mtime


def _remembered(key: tuple[object, ...], make: Callable[[], object]) -> object:
    """What was made for this key before; the oldest of many are forgotten."""
    with _lock:
        if key in _kept:
            _kept.move_to_end(key)
            return _kept[key]
    result = make()
    with _lock:
        _kept[key] = result
        while len(_kept) > _MOST_KEPT:
            _kept.popitem(last=False)
    return result
