"""Notes do not move the study's time any more; the clock is compared with the seconds that the computer counts."""

from typing import ClassVar

from django.db import migrations, models

_NOTES = ("action_noted", "request_refused")


def _without_notes(apps, _editor) -> None:  # type: ignore[no-untyped-def]
    events = apps.get_model("records", "Event").objects.exclude(kind__in=_NOTES).order_by("-number")
    last = events.values_list("at", flat=True).first()
    if last is not None:
        apps.get_model("records", "Study").objects.update(last_time=last)


class Migration(migrations.Migration):
    dependencies: ClassVar = [("records", "0002_several_roles")]

    operations: ClassVar = [
        migrations.AddField("study", "boot", models.CharField(max_length=64, default="")),
        migrations.AddField("study", "booted_at", models.DateTimeField(null=True)),
        migrations.RunPython(_without_notes, migrations.RunPython.noop),
    ]
