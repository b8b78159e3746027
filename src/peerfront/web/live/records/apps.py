"""The records as a part of Django."""

from django.apps import AppConfig


class RecordsConfig(AppConfig):
    name = "peerfront.web.live.records"
    label = "records"
