from django.apps import AppConfig


class ReportsConfig(AppConfig):
    name = "exchange.reports"
    label = "reports"
