from django.apps import AppConfig


class KeysConfig(AppConfig):
    name = "exchange.keys"
    label = "keys"
