"""The records as a part of Django."""

from django.apps import AppConfig


class RecordsConfig(AppConfig):
    name = "peerfront.live.records"
    label = "records"
