from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "exchange.accounts"
    label = "accounts"

    def ready(self) -> None:
        from exchange.accounts import checks  # noqa: F401, registers itself once models are loaded
