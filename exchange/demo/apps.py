from django.apps import AppConfig


class DemoConfig(AppConfig):
    name = "exchange.demo"
    label = "demo"

    def ready(self) -> None:
        from exchange.demo import checks  # noqa: F401, registers itself once models are loaded
