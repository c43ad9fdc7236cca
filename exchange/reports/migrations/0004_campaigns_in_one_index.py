"""All that is summed up of some campaigns in one index, which stands for two."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("market", "0007_graph_version"), ("reports", "0003_sums")]

    operations = [
        migrations.RemoveIndex(
            model_name="eligiblevisits", name="reports_eli_campaig_0b2208_idx"
        ),
        migrations.AlterField(
            model_name="eligiblevisits",
            name="campaign",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="market.campaign",
            ),
        ),
        migrations.AddIndex(
            model_name="eligiblevisits",
            index=models.Index(
                fields=["campaign", "day"],
                include=("publisher", "eligible_visits"),
                name="eligible_of_campaign",
            ),
        ),
    ]
