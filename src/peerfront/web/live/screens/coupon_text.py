"""The study's own text on its coupons: a form with a preview on each paper, and how much room the text needs.

Heights are estimates from the width of usual letters; `coupons.css` has the same measures.
"""

import math
import unicodedata
from dataclasses import asdict, dataclass, replace
from datetime import date, timedelta
from typing import Any

from django import forms
from django.conf import settings as django_settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import get_language, get_language_info, gettext
from django.utils.translation import gettext_lazy as _

from peerfront.web.live.records.models import Site
from peerfront.web.live.rules.codes import new_code
from peerfront.web.live.rules.deciding import Accepted
from peerfront.web.live.rules.records import StudyRow
from peerfront.web.live.rules.requests import ChangeSettings
from peerfront.web.live.rules.study_rules import fingerprint
from peerfront.web.live.rules.study_settings import COUPON_LENGTHS, LONGEST_TEXT, CouponText, Settings
from peerfront.web.live.screens.page_frame import study_or_404, today_of
from peerfront.web.live.screens.settings_page import refused_change
from peerfront.web.live.screens.staff_requests import RequestForm

LAYOUTS: dict[str, Promise | str] = {"a4": _("A4 sheet"), "letter": _("Letter sheet"), "label": _("62 mm labels")}
"""Papers on which coupons are printed; each has its own style sheet, `pages/print_<name>.css`."""


@dataclass(frozen=True)
class Paper:
    """Measures in mm, those of coupons.css."""

    height: float
    gap: float
    """Between two coupons."""
    columns: int
    coupon: float
    """The least height of a coupon."""
    edge: float
    width: float
    """Of its text."""
    beside: float
    """Of the words beside the QR code, or below it on a label."""
    words: float
    """The size of letters."""
    space: float
    """Between two paragraphs."""


PAPERS = {
    "a4": Paper(277, 3, 2, 62, 6.6, 86.4, 53.4, 3.4, 1.5),
    "letter": Paper(259.4, 2, 2, 60, 6.6, 86.4, 53.4, 3.4, 1.5),
    "label": Paper(96, 0, 1, 0, 2, 56, 56, 3.2, 1),
}
_LINE, _QR = 1.3, 30.0
_TITLE, _CODE, _SMALL = 4.2, 4.6, 2.9  # sizes of letters
_USUAL, _WIDE = 0.56, 1.0  # width of a letter, as a share of its size


def lines_of(text: str, size: float, width: float) -> int:
    """Lines that a text needs, if its letters have this size and the line this width."""
    room = width / size

    def length(line: str) -> float:
        return sum(_WIDE if unicodedata.east_asian_width(each) in "WF" else _USUAL for each in line)

    return sum(max(1, math.ceil(length(line) / room)) for line in text.splitlines())


def height_of(words: CouponText, name: str, site: str, layout: str) -> float:
    """Estimated height of a coupon with this text, of a study and site with these names, in mm."""
    paper = PAPERS[layout]

    def room(text: str, size: float, width: float = paper.width) -> float:
        return lines_of(text, size, width) * size * _LINE + paper.space if text else 0.0

    beside = room("x", _CODE) + room("x\nx", paper.words)  # code and days
    beside += room(words.reward, paper.words, paper.beside) + room(site, paper.words, paper.beside)
    middle = _QR + paper.space + beside if layout == "label" else max(_QR + paper.space, beside)
    where = "\n".join(filter(None, (words.address, " · ".join(filter(None, (words.hours, words.telephone))))))
    below = room(words.text, _SMALL) + room(where, _SMALL) + room(words.below or "x" * 120, _SMALL)
    return max(paper.coupon, paper.edge + room(words.title or name, _TITLE) + middle + below - paper.space)


@dataclass(frozen=True)
class Fit:
    """How a coupon fits on a paper."""

    on_page: int
    too_long: int
    """By so many mm, if it is larger than the paper."""


def fit_of(height: float, layout: str) -> Fit:
    paper = PAPERS[layout]
    rows = math.floor((paper.height + paper.gap) / (height + paper.gap))
    return Fit(rows * paper.columns, max(0, math.ceil(height - paper.height)))


def shown_text(settings: Settings, language: str = "") -> dict[str, Any]:
    """The text of a coupon in a language, by default the page's, with its direction, for `coupon.html`."""
    words = settings.coupon_text(language or get_language() or "")
    spoken = (words.language if words else "") or get_language() or "en"
    return {"words": words, "coupon_language": spoken, "is_bidi": get_language_info(spoken)["bidi"]}


def _part(name: str, label: Any, help_text: Any = "", rows: int = 0) -> forms.CharField:
    widget = forms.Textarea(attrs={"rows": rows}) if rows else forms.TextInput()
    return forms.CharField(
        label=label, help_text=help_text, required=False, max_length=COUPON_LENGTHS[name], widget=widget
    )


class CouponTextForm(RequestForm):
    """The text in one language."""

    shown = forms.CharField(widget=forms.HiddenInput, max_length=64, required=False)
    title = _part("title", _("Title"), _("Instead of the study's name."))
    text = _part("text", _("Text"), rows=3)
    reward = _part("reward", _("Reward"))
    address = _part("address", _("Address"), _("With several sites, a line for each."), rows=2)
    hours = _part("hours", _("Opening hours"))
    telephone = _part("telephone", _("Telephone"))
    below = _part("below", _("Last line"), _("Such as: Bring this coupon."))
    why = forms.CharField(label=_("Reason for the change"), required=False, max_length=LONGEST_TEXT)

    def entries(self, language: str) -> CouponText:
        names = (name for name in COUPON_LENGTHS if name in self.fields)
        return CouponText(language, **{name: self.cleaned_data[name].replace("\r\n", "\n") for name in names})


def coupon_text(request: HttpRequest) -> HttpResponse:
    """Show the text in a language (?language=es; for all without) as it prints, show what was typed, or save it."""
    study = study_or_404()
    known = dict(django_settings.LANGUAGES)
    language = request.GET.get("language", "")
    language = language if language in known else ""
    texts = {each.language: each for each in study.settings.coupon_texts}
    words = texts.get(language, CouponText(language))
    if request.method != "POST":
        form = CouponTextForm(initial=asdict(words) | {"shown": fingerprint(study.settings)})
        return _page(request, study, form, words)
    form = CouponTextForm(request.POST)
    if not form.is_valid():
        return _page(request, study, form, words)
    words = form.entries(language)
    if "save" not in request.POST:
        return _page(request, study, form, words)
    shown = form.cleaned_data["shown"]
    texts = {each: text for each, text in (texts | {language: words}).items() if text != CouponText(each)}
    in_order = tuple(texts[each] for each in sorted(texts))
    settings = replace(study.settings, coupon_texts=in_order)
    answered = form.ask(request, ChangeSettings(settings, form.cleaned_data["why"], shown))
    if isinstance(answered, Accepted):
        messages.success(request, gettext("The text is saved. Coupons that are printed from now on have it."))
        return redirect(f"{reverse('coupon_text')}?language={language}")
    return _page(request, study, form.with_new_key(), words, **refused_change(shown, answered))


@dataclass(frozen=True)
class _Sample:
    code: str
    first_day: date
    last_day: date


def _page(request: HttpRequest, study: StudyRow, form: CouponTextForm, words: CouponText, **more: Any) -> HttpResponse:
    settings = study.settings
    first = today_of(study) + timedelta(days=settings.active_after_days)
    site = Site.objects.first()
    name = "" if site is None else site.name
    heights = {layout: height_of(words, settings.name, name, layout) for layout in LAYOUTS}
    has_text = {each.language for each in settings.coupon_texts}
    languages = [("", gettext("All languages")), *django_settings.LANGUAGES]
    context = shown_text(replace(settings, coupon_texts=(words,) if words != CouponText(words.language) else ())) | {
        "form": form,
        "language_now": words.language,
        "languages": [(code, label, code in has_text) for code, label in languages],
        "sample": _Sample(new_code(study.prefix), first, first + timedelta(days=settings.valid_days - 1)),
        "sample_site": name,
        "papers": [(layout, label, fit_of(heights[layout], layout)) for layout, label in LAYOUTS.items()],
    }
    return render(request, "screens/management/coupon_text.html", context | more)
