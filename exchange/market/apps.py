from django.apps import AppConfig


class MarketConfig(AppConfig):
    name = "exchange.market"
    label = "market"
