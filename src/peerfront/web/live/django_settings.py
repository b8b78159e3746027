"""Settings of Django for a live study; the folder that PEERFRONT_LIVE_FOLDER names holds what differs between studies.

Without a folder (type checks, making migrations) the keys are drawn anew and the database is in memory.
"""

import os
from pathlib import Path
from typing import Any

from peerfront.web.live.folder import FOLDER, Keys, LiveFolder, Serving, sqlite
from peerfront.web.pages.common_settings import shared, templates

_named = os.environ.get(FOLDER)
LIVE_FOLDER: LiveFolder | None = LiveFolder(Path(_named)) if _named else None
KEYS = LIVE_FOLDER.keys if LIVE_FOLDER else Keys.drawn()
_serving = LIVE_FOLDER.serving if LIVE_FOLDER else Serving()

globals().update(shared())
LANGUAGE_CODE = _serving.language
TIME_ZONE = "UTC"
DEBUG = False
SECRET_KEY = KEYS.secret_key
CONTACT_KEY = KEYS.contact_key
ALLOWED_HOSTS = _serving.names_in_addresses
DATABASES: dict[str, Any] = {"default": LIVE_FOLDER.database if LIVE_FOLDER else sqlite(Path(":memory:"))}
INSTALLED_APPS = [
    "peerfront.web.pages",
    "peerfront.web.live.records",
    "peerfront.web.live.screens",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.forms",
    "axes",
    "csp",
]
MIDDLEWARE = [
    "peerfront.web.live.operations.middleware.SentByScript",
    "peerfront.web.live.operations.middleware.RequestLog",
    "django.middleware.security.SecurityMiddleware",
    "django.middleware.gzip.GZipMiddleware",  # sites have slow networks
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "peerfront.web.pages.speaking.InTheLanguageOfThePage",
    "django.middleware.common.CommonMiddleware",
    "peerfront.web.live.operations.middleware.BodyLimit",
    "django.middleware.csrf.CsrfViewMiddleware",
    "peerfront.web.live.operations.middleware.StorableText",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "peerfront.web.live.operations.middleware.LoginEnds",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "peerfront.web.live.screens.staff_requests.AccessMiddleware",
    "axes.middleware.AxesMiddleware",
]
TEMPLATES = templates(
    "django.contrib.auth.context_processors.auth",
    "peerfront.web.live.screens.page_frame.study",
    filters=["peerfront.web.live.screens.page_words"],
)
ROOT_URLCONF = "peerfront.web.live.screens.urls"

# Logins: argon2, at most five wrong passwords (`operations.tries` has more limits), sessions that end after a shift or
# half an hour without work.
AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "peerfront.web.live.screens.staff_requests.StaffBackend",
]
PASSWORD_HASHERS = ["peerfront.web.live.operations.tries.SmallArgon2"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "home"
AXES_FAILURE_LIMIT = 5
AXES_COOLOFF_TIME = 0.25  # hours
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_RESET_ON_SUCCESS = True
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False  # refused tries are not written down
AXES_CLIENT_IP_CALLABLE = "peerfront.web.live.operations.tries.address_of"
AXES_WHITELIST_CALLABLE = "peerfront.web.live.screens.logins.is_own_browser"
AXES_LOCKOUT_CALLABLE = "peerfront.web.live.screens.logins.locked_out"
AXES_VERBOSE = False
AXES_SENSITIVE_PARAMETERS = ["username", "ip_address", "carried", "next"]  # entries, and addresses that hold codes
AXES_DISABLE_ACCESS_LOG = True  # the audit already records what people did
PASSWORD_RESET_TIMEOUT = 3 * 24 * 3600  # lifetime of one-time links
SESSION_COOKIE_AGE = 30 * 60  # of inactivity; `operations.middleware` notes activity, and ends a login after a long day
SESSION_EXPIRE_AT_BROWSER_CLOSE = True
SESSION_COOKIE_NAME = "peerfront_session"
MESSAGE_STORAGE = "django.contrib.messages.storage.fallback.FallbackStorage"  # many notes do not fit into a cookie
DEFAULT_EXCEPTION_REPORTER_FILTER = "peerfront.web.live.operations.middleware.NothingTyped"
CSRF_FAILURE_VIEW = "peerfront.web.live.screens.logins.form_expired"

SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = LANGUAGE_COOKIE_SECURE = _serving.tls
SECURE_SSL_REDIRECT = _serving.tls
SECURE_REDIRECT_EXEMPT = ["^healthz$"]  # asked by a monitor on the server itself
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if _serving.tls else None
SECURE_HSTS_SECONDS = 31_536_000 if _serving.tls else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = _serving.tls
CSRF_TRUSTED_ORIGINS = [f"https://{host}" for host in _serving.names_in_addresses] if _serving.tls else []
# Without TLS the study is served to one computer or a private network, which `peerfront live serve` says.
SILENCED_SYSTEM_CHECKS = [] if _serving.tls else ["security.W004", "security.W008", "security.W012", "security.W016"]

# `operations.middleware.BodyLimit` limits whole requests, files included.
DATA_UPLOAD_MAX_MEMORY_SIZE = FILE_UPLOAD_MAX_MEMORY_SIZE = 2_500_000
DATA_UPLOAD_MAX_NUMBER_FIELDS = 20_000
