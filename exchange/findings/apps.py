from django.apps import AppConfig


class FindingsConfig(AppConfig):
    name = "exchange.findings"
    label = "findings"
