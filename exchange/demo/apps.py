from django.apps import AppConfig


class DemoConfig(AppConfig):
    name = "exchange.demo"
    label = "demo"
