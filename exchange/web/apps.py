from django.apps import AppConfig


class WebConfig(AppConfig):
    name = "exchange.web"
    label = "web"
