"""docs/operating.md, tried: from nothing to an exchange that answers, its backup, its restore on
another server, and an upgrade under way."""

from __future__ import annotations

import json
import subprocess
from http.client import HTTPConnection
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

from tests.launcher.production import HOST, Person, Site, open_site

pytestmark = [pytest.mark.soak, pytest.mark.faults, pytest.mark.timeout(1200)]

PASSWORD = "quiet-otter-39"
# What people would do at the forms; they are tried elsewhere.
TRADE = """
from exchange.accounts.models import Organisation, User
from exchange.market.models import Booking, Campaign, Edge, Party
from exchange.market.services import save_booking, save_campaign, save_edge, save_party
from datetime import timedelta
from django.utils import timezone
by = User.objects.get()
def party(kind, name):
    made = Party(kind=kind, name=name, seller_id=name.lower(), organisation=by.organisation)
    save_party(party=made, by=by)
    return made
herald, soda = party("publisher", "Herald"), party("advertiser", "Soda")
save_edge(edge=Edge(seller=herald, buyer=soda, expression="true", fee_percent="10"), by=by)
now = timezone.now()
campaign = Campaign(
    advertiser=soda, name="Summer", expression="geo.country = 'FRA'", bid_cpm="5", status="live",
    starts_at=now - timedelta(days=1), ends_at=now + timedelta(days=30),
)
save_campaign(campaign=campaign, by=by)
save_booking(booking=Booking(campaign=campaign, publisher=herald), by=by)
"""
RENAME = """
from exchange.accounts.models import User
from exchange.market.models import Campaign
from exchange.market.services import save_campaign
campaign = Campaign.objects.get()
campaign.name = {name!r}
save_campaign(campaign=campaign, by=User.objects.get())
"""
# As years of trade would: a new server counts from the beginning.
AGE = """
from django.db import connection
with connection.cursor() as cursor:
    for _ in range(20_000):
        cursor.execute("SELECT pg_current_xact_id()")
"""


def ask(site: Site, key: str) -> dict[str, Any]:
    connection = HTTPConnection("127.0.0.1", site.serving_port, timeout=60)
    headers = {"Authorization": f"Api-Key {key}"}
    body = json.dumps({"visit": {"geo.country": "FRA"}})
    connection.request("POST", "/api/v1/eligibility", body, headers)
    document: dict[str, Any] = json.loads(connection.getresponse().read())
    connection.close()
    return document


def names_in(site: Site, key: str) -> list[str]:
    return [each["campaign"] for each in ask(site, key).get("eligible", [])]


def found(site: Site) -> Person:
    """Follows the commands of the guide, in its order; gives the administrator, logged in."""
    site.manage("migrate", "--noinput")
    site.manage("collectstatic", "--noinput")
    site.manage("check", "--deploy", "--database=default", "--fail-level=ERROR")
    link = site.manage("found_exchange", "--organisation=Acme", "--username=ada", "--link")
    assert link.startswith(f"https://{HOST}/welcome/")
    site.start_pages()
    site.start_serving()
    site.start_workers()
    ada = Person(site)
    site.wait_for(lambda: ada.get("/login/")[0] == 200)
    path = link.removeprefix(f"https://{HOST}")
    assert ada.post(path, new_password1=PASSWORD, new_password2=PASSWORD)[0] == 302
    assert ada.post("/login/", username="ada", password=PASSWORD)[0] == 302
    assert ada.get("/")[0] == 200
    return ada


def build_by_hand(site: Site, ada: Person) -> None:
    """Builds with the button; a worker takes it."""
    status, page = ada.get("/snapshots/")
    assert status == 200
    assert ada.send_form(page, "/snapshots/build/")[0] == 302


def back_up(site: Site, folder: Path) -> Path:
    folder.mkdir()
    dump = folder / "treeline.dump"
    with dump.open("wb") as file:
        subprocess.run(
            [site.binary("pg_dump"), "--format=custom", site.environment["DATABASE_URL"]],
            stdout=file,
            check=True,
        )
    copytree(site.var / "snapshots", folder / "snapshots")
    return dump


def restore(site: Site, dump: Path) -> None:
    subprocess.run(
        [
            *(site.binary("pg_restore"), "--no-owner", "--exit-on-error", "--single-transaction"),
            *("--dbname", site.environment["DATABASE_URL"], str(dump)),
        ],
        check=True,
    )


def rename(site: Site, name: str) -> None:
    site.manage("shell", "-c", RENAME.format(name=name))


def test_an_exchange_is_founded_backed_up_and_restored(tmp_path: Path) -> None:
    with open_site(tmp_path / "first") as first:
        ada = found(first)
        first.manage("shell", "-c", TRADE)
        publisher = "--publisher=herald"
        key = first.manage("create_api_key", "--name=ads", publisher)
        build_by_hand(first, ada)
        first.wait_for(lambda: names_in(first, key) == ["Summer"])
        rename(first, "Autumn")
        first.wait_for(lambda: names_in(first, key) == ["Autumn"])
        restart_one_after_another(first, key)
        first.manage("shell", "-c", AGE)
        rename(first, "Winter")
        first.wait_for(lambda: names_in(first, key) == ["Winter"])
        dump = back_up(first, tmp_path / "backup")
    with open_site(tmp_path / "second") as second:
        second.environment["TREELINE_SECRET_KEY"] = first.environment["TREELINE_SECRET_KEY"]
        restore(second, dump)
        serve_the_copy(second, tmp_path / "backup", key)
        assert second.manage("migrate", "--check") == ""
        assert "Forgot" in second.manage("settle_restore")
        second.manage("collectstatic", "--noinput")
        second.start_pages()
        second.start_workers()
        second.wait_for(lambda: names_in(second, key) == ["Winter"])
        rename(second, "Spring")
        second.wait_for(lambda: names_in(second, key) == ["Spring"])
        settles_down(second, key)
        ada = Person(second)
        second.wait_for(lambda: ada.get("/login/")[0] == 200)
        assert ada.post("/login/", username="ada", password=PASSWORD)[0] == 302


def restart_one_after_another(site: Site, key: str) -> None:
    """Restarts as an upgrade does: pages and workers away, ad servers go on answering; then they
    restart."""
    site.stop("pages", "beat", *[each.program.name for each in site.running[2:]])
    assert names_in(site, key) == ["Autumn"]
    site.manage("migrate", "--noinput")
    assert "nothing to do" in site.manage("build_snapshot", "--if-needed")
    site.stop("serving")
    site.start_serving()
    site.wait_for(lambda: names_in(site, key) == ["Autumn"])
    site.start_pages()
    site.start_workers()


def serve_the_copy(site: Site, backup: Path, key: str) -> None:
    """Serves the copied snapshots at once, before anything is built."""
    copytree(backup / "snapshots", site.var / "snapshots")
    site.start_serving()
    site.wait_for(lambda: names_in(site, key) == ["Winter"])


def settles_down(site: Site, key: str) -> None:
    """Checks that there is no delta without a change: nothing of the old server's count is left."""
    before = ask(site, key)["delta"]
    waits = site.manage(
        "shell",
        "-c",
        "from exchange.snapshots.standing import read_standing as r; print(r().waiting_count)",
    )
    assert waits.splitlines()[-1] == "0"
    assert ask(site, key)["delta"] == before
