"""Revokes an API key by its id, as `list_api_keys` shows it."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from exchange.keys.models import ApiKey
from exchange.keys.services import revoke_api_key


class Command(BaseCommand):
    help = "Revoke an API key. Servers refuse it as soon as they read the next list of keys."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("id", type=int, help="the key's id; see list_api_keys")

    def handle(self, **options: Any) -> None:
        key = ApiKey.objects.filter(pk=options["id"]).first()
        if key is None:
            raise CommandError(f"There is no API key {options['id']}. See list_api_keys.")
        revoked = revoke_api_key(key=key)
        self.stdout.write(f"Key {key.pk}, {key.name}: {'' if revoked else 'already '}revoked.")
