"""Names are found by their words, and revisions by what they are of: fewer, smaller indexes."""

from importlib import import_module

import django.contrib.postgres.indexes
import django.db.models.deletion
import exchange.market.words
from django.conf import settings
from django.db import migrations, models

CREATE_TRIGRAMS = import_module('exchange.market.migrations.0001_initial').CREATE_TRIGRAMS


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0003_api_keys'),
        ('market', '0003_rules'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RemoveIndex(
            model_name='campaign',
            name='campaign_name_trigrams',
        ),
        migrations.RunSQL('DROP FUNCTION market_trigrams(text)', CREATE_TRIGRAMS),
        migrations.AlterField(
            model_name='attributeevent',
            name='updated_by',
            field=models.ForeignKey(blank=True, db_constraint=False, db_index=False, editable=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', related_query_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AlterField(
            model_name='audienceevent',
            name='organisation',
            field=models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', related_query_name='+', to='accounts.organisation'),
        ),
        migrations.AlterField(
            model_name='audienceevent',
            name='updated_by',
            field=models.ForeignKey(blank=True, db_constraint=False, db_index=False, editable=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', related_query_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AlterField(
            model_name='bookingevent',
            name='advertiser',
            field=models.ForeignKey(blank=True, db_constraint=False, db_index=False, editable=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', related_query_name='+', to='market.party'),
        ),
        migrations.AlterField(
            model_name='bookingevent',
            name='campaign',
            field=models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', related_query_name='+', to='market.campaign'),
        ),
        migrations.AlterField(
            model_name='bookingevent',
            name='publisher',
            field=models.ForeignKey(db_constraint=False, db_index=False, error_messages={'invalid': 'Only a publisher takes bookings. Choose one.'}, limit_choices_to={'kind': 'publisher'}, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', related_query_name='+', to='market.party'),
        ),
        migrations.AlterField(
            model_name='bookingevent',
            name='updated_by',
            field=models.ForeignKey(blank=True, db_constraint=False, db_index=False, editable=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', related_query_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AlterField(
            model_name='campaignevent',
            name='advertiser',
            field=models.ForeignKey(db_constraint=False, db_index=False, error_messages={'invalid': 'Only an advertiser can have a campaign. Choose one.'}, limit_choices_to={'kind': 'advertiser'}, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', related_query_name='+', to='market.party'),
        ),
        migrations.AlterField(
            model_name='campaignevent',
            name='updated_by',
            field=models.ForeignKey(blank=True, db_constraint=False, db_index=False, editable=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', related_query_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AlterField(
            model_name='edgeevent',
            name='buyer',
            field=models.ForeignKey(db_constraint=False, db_index=False, error_messages={'invalid': 'Only an intermediary or an advertiser can buy. Choose one.'}, limit_choices_to={'kind__in': ['intermediary', 'advertiser']}, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', related_query_name='+', to='market.party'),
        ),
        migrations.AlterField(
            model_name='edgeevent',
            name='seller',
            field=models.ForeignKey(db_constraint=False, db_index=False, error_messages={'invalid': 'Only a publisher or an intermediary can sell. Choose one.'}, limit_choices_to={'kind__in': ['publisher', 'intermediary']}, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', related_query_name='+', to='market.party'),
        ),
        migrations.AlterField(
            model_name='edgeevent',
            name='updated_by',
            field=models.ForeignKey(blank=True, db_constraint=False, db_index=False, editable=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', related_query_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AlterField(
            model_name='partyevent',
            name='organisation',
            field=models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', related_query_name='+', to='accounts.organisation'),
        ),
        migrations.AlterField(
            model_name='partyevent',
            name='updated_by',
            field=models.ForeignKey(blank=True, db_constraint=False, db_index=False, editable=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', related_query_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AlterField(
            model_name='testvisitevent',
            name='campaign',
            field=models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', related_query_name='+', to='market.campaign'),
        ),
        migrations.AlterField(
            model_name='testvisitevent',
            name='updated_by',
            field=models.ForeignKey(blank=True, db_constraint=False, db_index=False, editable=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', related_query_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AlterField(
            model_name='valuelistevent',
            name='organisation',
            field=models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', related_query_name='+', to='accounts.organisation'),
        ),
        migrations.AlterField(
            model_name='valuelistevent',
            name='updated_by',
            field=models.ForeignKey(blank=True, db_constraint=False, db_index=False, editable=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', related_query_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddIndex(
            model_name='campaign',
            index=django.contrib.postgres.indexes.GinIndex(exchange.market.words.Words('name'), name='campaign_name_words'),
        ),
    ]
