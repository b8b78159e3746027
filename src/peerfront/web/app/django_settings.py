"""Settings of Django for the app: no database, no accounts, this computer only."""

from peerfront.web.app.app_server import HOSTS, serving
from peerfront.web.pages.common_settings import CONTENT_SECURITY_POLICY as SHARED_POLICY
from peerfront.web.pages.common_settings import shared, templates

globals().update(shared())
_serving = serving()
DEBUG = False
SECRET_KEY = _serving.secret_key
ALLOWED_HOSTS = list(HOSTS)
DATABASES: dict[str, object] = {}
INSTALLED_APPS = [
    "peerfront.web.pages",
    "peerfront.web.app",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.forms",
    "csp",
]
MIDDLEWARE = [
    "peerfront.web.app.link_access.OnlyThisComputer",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "peerfront.web.app.link_access.InTheLanguageOfTheApp",
    "peerfront.web.app.link_access.OnlyWithTheLink",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
TEMPLATES = templates("peerfront.web.app.study_steps.page_context")
TEMPLATES[0]["OPTIONS"]["builtins"].append("peerfront.web.app.app_words")
ROOT_URLCONF = "peerfront.web.app.urls"
CSRF_FAILURE_VIEW = "peerfront.web.app.link_access.form_expired"
# Cookies are shared by all ports of a computer: each app has its own.
CSRF_COOKIE_NAME = f"peerfront_form_{_serving.port}"
CSRF_COOKIE_SAMESITE = "Strict"
CSRF_COOKIE_HTTPONLY = True
LANGUAGE_COOKIE_NAME = "peerfront_language"
LANGUAGE_COOKIE_SAMESITE = "Strict"
CONTENT_SECURITY_POLICY = {"DIRECTIVES": {**SHARED_POLICY["DIRECTIVES"], "frame-src": ["'self'"]}}
DATA_UPLOAD_MAX_MEMORY_SIZE = 2_500_000
DATA_UPLOAD_MAX_NUMBER_FIELDS = 20_000
FILE_UPLOAD_MAX_MEMORY_SIZE = 2_500_000
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "handlers": {"console": {"class": "logging.StreamHandler"}},
    "loggers": {"django.request": {"handlers": ["console"], "level": "ERROR", "propagate": False}},
}
