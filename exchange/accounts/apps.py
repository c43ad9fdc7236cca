from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "exchange.accounts"
    label = "accounts"
