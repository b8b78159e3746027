"""Ask the rules for something with a form, and show what they answer; pages that are one such form."""

from collections.abc import Callable, Sequence
from typing import Any, cast

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from peerfront.web.live.records.database import DatabaseRecords
from peerfront.web.live.rules.deciding import Accepted, Answer, decide
from peerfront.web.live.rules.requests import Request, Wish
from peerfront.web.live.rules.study_settings import LONGEST_TEXT
from peerfront.web.live.screens.page_words import refusal_words
from peerfront.web.live.screens.staff_requests import AtWork, RequestForm, count_wrong_code, new_key


def would_answer(request: HttpRequest, wish: Wish) -> Answer:
    """The answer to a request as if it were sent now by the person who is logged in, at the site where they work."""
    at_work = cast(AtWork, request)
    asked = Request(new_key(), at_work.member, at_work.work_site, None, wish)
    answered = decide(DatabaseRecords(), asked, timezone.now())
    count_wrong_code(at_work.member, answered)
    return answered


def why_field() -> forms.CharField:
    """A reason, which is recorded for ever."""
    return forms.CharField(
        label=_("Why"),
        help_text=_("It is kept in the audit. Write no names and no telephone numbers."),
        max_length=LONGEST_TEXT,
        widget=forms.Textarea(attrs={"rows": 3}),
    )


class PageForm(RequestForm):
    """A page that is one form: its words, what it asks for, and the page to which it leads.

    The words may hold the `names` of what the form is about, such as `%(person)s`.
    """

    title: Promise | str
    lead: Promise | str = ""
    button: Promise | str
    done: Promise | str
    """Said after it was done."""
    danger = False
    back: str
    """The address to which the form leads."""
    back_label: Promise | str
    site: str | None = None
    names: dict[str, Any]

    def __init__(self, request: HttpRequest, **named: Any) -> None:
        super().__init__(**{"data": request.POST or None} | named)

    def wish(self) -> Wish:
        """What to ask the rules for."""
        raise NotImplementedError

    def facts(self) -> Sequence[tuple[str, object]]:
        """What to know before the form is sent, by name."""
        return ()

    def alongside(self, accepted: Accepted) -> None:
        """Done in the transaction in which the wish is recorded."""

    def afterwards(self, request: HttpRequest) -> None:
        """Done when it is recorded, before the page to which the form leads."""

    def words(self) -> dict[str, str]:
        texts = {"title": self.title, "lead": self.lead, "button": self.button, "back_label": self.back_label}
        return {name: str(text) % self.names for name, text in texts.items()}


def form_page(kind: type[PageForm]) -> Callable[..., HttpResponse]:
    """The view that shows a form, or asks for what it wishes; after a refusal it is shown as typed, with a new key."""

    def page(request: HttpRequest, **about: Any) -> HttpResponse:
        form = kind(request, **about)
        context: dict[str, Any] = {"form": form, "words": form.words()}
        if request.method == "POST" and form.is_valid():
            answered = form.ask(request, form.wish(), site=form.site, alongside=form.alongside)
            if isinstance(answered, Accepted):
                if not answered.repeated:
                    messages.success(request, str(form.done) % form.names)
                    form.afterwards(request)
                return redirect(form.back)
            context |= refusal_words(answered.refusal)
            form.with_new_key()
        return render(request, "screens/form_page.html", context)

    return page
