"""The screens as a part of Django; its check refuses a page that no action declares."""

from typing import Any

from django.apps import AppConfig
from django.core.checks import CheckMessage, Error, register


class ScreensConfig(AppConfig):
    name = "peerfront.web.live.screens"
    label = "screens"

    def ready(self) -> None:
        from peerfront.web.live.operations import middleware  # noqa: F401  # it notes when a login begins

        register(_every_page_has_its_access)


def _every_page_has_its_access(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    from peerfront.web.live.screens.staff_requests import missing_pages

    return [
        Error(f"No action in rules/actions.py declares the page {name}: nobody could open it.", id="peerfront.E001")
        for name in missing_pages()
    ]
