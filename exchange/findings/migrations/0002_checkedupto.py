from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("findings", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="CheckedUpTo",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "position",
                    models.TextField(help_text="A database snapshot, as Postgres names it."),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("pk", 1)), name="one_checked_up_to"
                    )
                ],
            },
        ),
    ]
