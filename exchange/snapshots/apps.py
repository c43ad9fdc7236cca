from django.apps import AppConfig


class SnapshotsConfig(AppConfig):
    name = "exchange.snapshots"
    label = "snapshots"
