"""Settings of Django that the app for files and the live study share: templates, styles, languages, what a page may do.

No page has inline scripts or styles, so the content security policy allows none.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from csp.constants import NONE, SELF

from peerfront.words.language import LOCALE, PAGE_LANGUAGES

PAGES = Path(__file__).parent

CONTENT_SECURITY_POLICY: dict[str, Any] = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    }
}


def templates(*context_processors: str, filters: Iterable[str] = ()) -> list[dict[str, Any]]:
    """Templates of the installed parts, with what every page needs in its context, and modules of filters."""
    return [
        {
            "BACKEND": "django.template.backends.django.DjangoTemplates",
            "APP_DIRS": True,
            "OPTIONS": {
                "context_processors": [
                    "django.template.context_processors.request",
                    "django.template.context_processors.i18n",
                    "django.contrib.messages.context_processors.messages",
                    "peerfront.web.pages.speaking.machine_made",
                    *context_processors,
                ],
                "builtins": [
                    "django.templatetags.i18n",
                    "django.templatetags.static",
                    "peerfront.web.pages.icons",
                    *filters,
                ],
            },
        }
    ]


def shared(*, static: Path | None = None) -> dict[str, Any]:
    """What both servers set alike; a settings module takes it in with `globals().update`."""
    return {
        "LANGUAGES": list(PAGE_LANGUAGES.items()),
        "LANGUAGE_CODE": "en",
        "LOCALE_PATHS": [LOCALE],
        "LANGUAGE_COOKIE_AGE": 365 * 24 * 3600,
        "LANGUAGE_COOKIE_HTTPONLY": True,
        "LANGUAGE_COOKIE_SAMESITE": "Lax",
        "USE_I18N": True,
        "USE_TZ": True,
        "STATIC_URL": "static/",
        "STATIC_ROOT": static,
        "DEFAULT_AUTO_FIELD": "django.db.models.BigAutoField",
        "CONTENT_SECURITY_POLICY": CONTENT_SECURITY_POLICY,
        "X_FRAME_OPTIONS": "DENY",
        "SECURE_CONTENT_TYPE_NOSNIFF": True,
        "SECURE_REFERRER_POLICY": "same-origin",
        "SECURE_CROSS_ORIGIN_OPENER_POLICY": "same-origin",
        "SESSION_COOKIE_HTTPONLY": True,
        "SESSION_COOKIE_SAMESITE": "Lax",
        "CSRF_COOKIE_SAMESITE": "Lax",
        "WHITENOISE_USE_FINDERS": True,
        "WHITENOISE_AUTOREFRESH": False,
        "MESSAGE_STORAGE": "django.contrib.messages.storage.cookie.CookieStorage",
        "FORM_RENDERER": "django.forms.renderers.TemplatesSetting",
    }
