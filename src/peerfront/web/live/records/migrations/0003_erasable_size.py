"""Room for a second salt and commitment, that of the network size, beside what an import says about a person."""

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("records", "0002_for_0_4")]

    operations: ClassVar = [migrations.AlterField("person", "imported", models.CharField(max_length=128))]
