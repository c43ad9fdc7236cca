from django.db import migrations


class Migration(migrations.Migration):
    """API keys go to an app of their own (`keys`, which takes them over as they are): nothing of
    the database changes here."""

    dependencies = [
        ("accounts", "0005_address_failures"),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[migrations.DeleteModel(name="ApiKey")],
        ),
    ]
