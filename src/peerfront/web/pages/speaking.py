"""Results and messages on a page are in the page's language, and name fields instead of options."""

from collections.abc import Callable, Mapping

from django.http import HttpRequest, HttpResponseBase
from django.utils.formats import get_format
from django.utils.translation import get_language, gettext, ngettext

from peerfront.words.language import MACHINE_MADE, SPEAKER, Medium, Speaker


def page_speaker(fields: Mapping[str, object] | None = None) -> Speaker:
    """Django's own translation, in the language it has activated; `fields` are labels by setting."""
    marks = str.maketrans({",": get_format("THOUSAND_SEPARATOR"), ".": get_format("DECIMAL_SEPARATOR")})
    return Speaker(get_language() or "en", Medium.PAGE, gettext, ngettext, fields or {}, marks=marks)


def machine_made(request: HttpRequest) -> dict[str, bool]:
    """Let every page know whether its language is by a machine."""
    return {"machine_made": get_language() in MACHINE_MADE}


class InTheLanguageOfThePage:
    """Middleware, to stand after Django's `LocaleMiddleware`."""

    fields: Mapping[str, object] = {}
    """Labels of the pages' fields, by setting: messages name a setting by its label."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        before = SPEAKER.set(page_speaker(self.fields))
        try:
            return self.get_response(request)
        finally:
            SPEAKER.reset(before)
