"""The Django app of the records."""

from django.apps import AppConfig


class RecordsConfig(AppConfig):
    name = "peerfront.web.live.records"
    label = "records"
