"""The app's pages as a part of Django, so that it finds their templates, styles and translations."""

import django.apps


class AppConfig(django.apps.AppConfig):
    name = "peerfront.web.app"
    label = "app_for_files"
