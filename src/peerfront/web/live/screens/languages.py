"""Choose the language of the pages: kept in a cookie of this browser."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import check_for_language

from peerfront.web.live.screens.staff_requests import safe_next


def set_language(request: HttpRequest) -> HttpResponse:
    """Show pages in the chosen language from now on, if there is a translation."""
    response = redirect(safe_next(request))
    code = request.POST.get("language", "")
    if request.method == "POST" and code in dict(settings.LANGUAGES) and check_for_language(code):
        response.set_cookie(
            settings.LANGUAGE_COOKIE_NAME, code, max_age=365 * 24 * 3600, httponly=True, samesite="Lax",
            secure=settings.SESSION_COOKIE_SECURE,
        )  # fmt: skip
    return response
