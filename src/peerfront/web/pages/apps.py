"""The shared pages as a part of Django, so that it finds their templates, styles and translations."""

from django.apps import AppConfig


class PagesConfig(AppConfig):
    name = "peerfront.web.pages"
    label = "pages"
