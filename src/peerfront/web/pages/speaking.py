"""Results and messages on a page are in the page's language, and name fields instead of options."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponseBase
from django.utils.translation import get_language, gettext, ngettext

from peerfront.words.language import SPEAKER, Medium, Speaker


def page_speaker() -> Speaker:
    """Django's own translation, in the language it has activated."""
    return Speaker(get_language() or "en", Medium.PAGE, gettext, ngettext)


class InTheLanguageOfThePage:
    """Middleware, to stand after Django's `LocaleMiddleware`."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        before = SPEAKER.set(page_speaker())
        try:
            return self.get_response(request)
        finally:
            SPEAKER.reset(before)
