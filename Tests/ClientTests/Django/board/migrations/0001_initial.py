import django.db.models.deletion
from django.db import migrations, models

import board.models


class Migration(migrations.Migration):
    operations = [
        migrations.CreateModel("Column", [
            ("id", models.BigAutoField(primary_key=True)),
            ("name", models.TextField()),
        ]),
        migrations.CreateModel("Card", [
            ("id", models.BigAutoField(primary_key=True)),
            ("column", models.ForeignKey("board.column", on_delete=django.db.models.deletion.CASCADE)),
            ("title", models.TextField()),
            ("rank", board.models.RankField()),
        ], options={"ordering": ["rank"]}),
    ]
