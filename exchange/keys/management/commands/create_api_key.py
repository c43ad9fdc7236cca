"""Makes an API key and prints it, this once, as the only line on stdout."""

from __future__ import annotations

from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from exchange.accounts.models import Organisation
from exchange.keys.models import LONGEST_KEY_LIFE, Scope
from exchange.keys.services import USUAL_KEY_LIFE, create_api_key
from exchange.market.models import Party


class Command(BaseCommand):
    help = "Make an API key for an ad server. The key is printed once and cannot be shown again."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--name", required=True, help="what the key is for")
        parser.add_argument(
            "--publisher",
            required=True,
            action="append",
            metavar="SELLER_ID",
            help="a publisher that the key may ask for; repeat it for several",
        )
        parser.add_argument(
            "--organisation", help="the key's owner; by default the publishers' organisation"
        )
        parser.add_argument(
            "--scope",
            action="append",
            choices=Scope.values,
            help="what the key may be used for, default eligibility:read; repeat it for several",
        )
        parser.add_argument(
            "--expires-in-days",
            type=int,
            metavar="N",
            default=USUAL_KEY_LIFE.days,
            help=f"default {USUAL_KEY_LIFE.days}, at most {LONGEST_KEY_LIFE.days}",
        )

    def handle(self, **options: Any) -> None:
        publishers = find_publishers(options["publisher"])
        days = options["expires_in_days"]
        if not 1 <= days <= LONGEST_KEY_LIFE.days:
            raise CommandError(f"--expires-in-days must be from 1 to {LONGEST_KEY_LIFE.days}.")
        try:
            key, text = create_api_key(
                name=options["name"],
                organisation=find_organisation(options["organisation"], publishers),
                publishers=publishers,
                scopes=options["scope"] or [Scope.ELIGIBILITY_READ],
                expires_at=timezone.now() + timedelta(days=days),
            )
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from error
        self.stderr.write(f"Key {key.pk}, {key.name}. Keep it now: it is not shown again.")
        self.stdout.write(text)


def find_publishers(seller_ids: list[str]) -> list[Party]:
    publishers = list(Party.objects.filter(seller_id__in=seller_ids).select_related("organisation"))
    unknown = sorted(set(seller_ids) - {party.seller_id for party in publishers})
    if unknown:
        raise CommandError(f"No party has the seller id {', '.join(unknown)}.")
    return publishers


def find_organisation(name: str | None, publishers: list[Party]) -> Organisation:
    if name is not None:
        organisation = Organisation.objects.filter(name=name).first()
        if organisation is None:
            raise CommandError(f"There is no organisation {name}.")
        return organisation
    owners = {party.organisation for party in publishers}
    if len(owners) > 1:
        names = ", ".join(sorted(owner.name for owner in owners))
        raise CommandError(f"The publishers belong to {names}: say --organisation.")
    return owners.pop()
