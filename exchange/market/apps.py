from django.apps import AppConfig
from django.db.models.signals import post_migrate

from exchange.market.seed import seed_attributes


class MarketConfig(AppConfig):
    name = "exchange.market"
    label = "market"

    def ready(self) -> None:
        post_migrate.connect(seed_attributes, sender=self)
