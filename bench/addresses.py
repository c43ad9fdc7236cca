"""Lists what to ask at every address of the exchange: real objects, small, usual and large ones.

`LEFT_OUT` names what is not asked, with the reason; a test holds both against the addresses that
there are. Which rows are asked about is `bench.picked_rows`, what is asked of pages that are not
about one object is `bench.page_questions`.
"""

from __future__ import annotations

from collections.abc import Iterator

from django.contrib import admin
from django.db.models import Model
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from bench.page_questions import SPECIAL, Question
from bench.picked_rows import PICKS
from exchange.accounts.models import User
from exchange.accounts.permissions import is_exchange_operator
from exchange.web.kinds import KINDS

ONLY_POST = "it changes something and shows another page"
ELSEWHERE = "another process answers it"
LEFT_OUT = {
    "serving-eligibility": ELSEWHERE,
    "serving-batch": ELSEWHERE,
    "serving-snapshots": ELSEWHERE,
    "logout": ONLY_POST,
    "campaign-status": ONLY_POST,
    "campaign-book": ONLY_POST,
    "campaign-ask": ONLY_POST,
    "question-settle": ONLY_POST,
    "campaign-view-save": ONLY_POST,
    "campaign-view-remove": ONLY_POST,
    "value-list-keep": ONLY_POST,
    "api-key-revoke": ONLY_POST,
    "person-password": ONLY_POST,
    "person-switch": ONLY_POST,
    "snapshot-build": ONLY_POST,
    "snapshot-activate": ONLY_POST,
    "snapshot-roll-back": ONLY_POST,
    "report-run": ONLY_POST,
    "report-night-notebook": "a few lines, whatever the table",
    "value-list-change": ONLY_POST,
    **{f"{slug}-retire": ONLY_POST for slug in KINDS},
    **{f"{slug}-revert": ONLY_POST for slug in KINDS},
    "login": "it sends on whoever is logged in",
    "password-link": "it is for who has the link and cannot log in",
    "password-forgotten": "only where mail is sent",
    "admin:login": "it sends on to the exchange's log-in",
    "admin:logout": ONLY_POST,
    "admin:password_change": "the exchange's own page does it",
    "admin:password_change_done": "the exchange's own page does it",
    "admin:autocomplete": "no table offers it",
    "admin:view_on_site": "it sends on",
    "admin:app_list": "a part of the index",
    "admin:(?P<url>.*)$": "there is nothing",
    "admin:<path:object_id>/": "it sends on to the row's page",
}
LEFT_OUT_ENDINGS = {"_add": "nobody adds rows there", "_delete": "nobody deletes rows there"}


def find_names() -> set[str]:
    return {name for name, _ in walk(get_resolver())}


def walk(resolver: URLResolver, space: str = "") -> Iterator[tuple[str, URLPattern]]:
    for entry in resolver.url_patterns:
        if isinstance(entry, URLResolver):
            inner = f"{entry.namespace}:" if entry.namespace else ""
            yield from walk(entry, space + inner)
        else:
            yield f"{space}{entry.name or entry.pattern}", entry


def is_left_out(name: str) -> bool:
    return name in LEFT_OUT or (
        name.startswith("admin:") and name.endswith(tuple(LEFT_OUT_ENDINGS))
    )


def ask_all(person: User) -> Iterator[Question]:
    """Asks at every address that is not left out, for what this person may see."""
    for name in sorted(find_names()):
        if not is_left_out(name):
            yield from ask(name, person)


PAGES_OF_ONE = (
    "detail",
    "edit",
    "history",
    "values",
    "bookings",
    "impact",
    "paths",
    "tests",
    "api",
    "served",
    "why",
)


def ask(name: str, person: User) -> Iterator[Question]:
    if name.startswith("admin:"):
        yield from ask_admin(name, person)
    elif name in SPECIAL:
        yield from SPECIAL[name](name, person)
    else:
        slug, _, page = name.rpartition("-")
        if page in PAGES_OF_ONE and slug in PICKS:
            for what, row in PICKS[slug](person, page == "edit"):
                yield Question(name, what, reverse(name, args=[row.pk]))
        else:
            yield Question(name, "", reverse(name))


# Django's own pages of the tables.


def ask_admin(name: str, person: User) -> Iterator[Question]:
    if not is_exchange_operator(person):
        return
    page = name.removeprefix("admin:")
    table, _, view = page.rpartition("_")
    if view in ("change", "history"):
        row = find_model(table)._default_manager.order_by("-pk").first()
        if row is not None:
            yield Question(name, "newest", reverse(name, args=[row.pk]))
    elif page == "jsi18n" or view == "changelist" or page == "index":
        yield Question(name, "", reverse(name))


def find_model(table: str) -> type[Model]:
    models = {f"{model._meta.app_label}_{model._meta.model_name}": model for model in registered()}
    return models[table]


def registered() -> list[type[Model]]:
    return list(admin.site._registry)
