"""Imports are jobs, too."""

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("records", "0004_verified")]
    operations: ClassVar = [
        migrations.AddField("planningjob", "kind", models.CharField(default="plan", max_length=10)),
    ]
