"""Postgres hangs, or a table is locked: pages say so within seconds and leave threads to others."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest
from django.db import connection, transaction
from django.test import Client

from exchange.accounts.models import Organisation, Role
from tests.conftest import TreelineServer
from tests.people import hire
from tests.services import hung
from tests.waiting import PATIENCE_SECONDS, wait_until

# More than the server has threads.
VIEWERS = 8


class Visitor:
    """Somebody who is logged in, asking the running server."""

    def __init__(self, server: TreelineServer) -> None:
        operator = Organisation.objects.create(name="Operator", is_operator=True)
        browser = Client()
        browser.force_login(hire("alice", Role.ADMIN, operator))
        self.cookie = f"sessionid={browser.cookies['sessionid'].value}"
        self.port = urlsplit(server.url).port

    def see(self, path: str, *, is_known: bool = True) -> tuple[int, str]:
        asked = HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_SECONDS)
        try:
            asked.request("GET", path, headers={"Cookie": self.cookie} if is_known else {})
            answer = asked.getresponse()
            return answer.status, answer.read().decode()
        finally:
            asked.close()

    def see_at_once(self, path: str) -> list[tuple[int, str]]:
        with ThreadPoolExecutor(VIEWERS) as viewers:
            return list(viewers.map(self.see, [path] * VIEWERS))

    def wait_until_seen(self, path: str) -> None:
        wait_until(lambda: self.see(path)[0] == 200)


@pytest.fixture
def visitor(treeline_server: TreelineServer) -> Visitor:
    visitor = Visitor(treeline_server)
    visitor.wait_until_seen("/campaigns/")
    return visitor


def test_pages_say_that_the_database_is_away_while_it_hangs(visitor: Visitor) -> None:
    with hung("postgres"):
        answers = visitor.see_at_once("/campaigns/")
        assert visitor.see("/healthz", is_known=False)[0] == 200
    assert {status for status, _ in answers} == {503}
    assert all("The database does not answer" in page for _, page in answers)
    visitor.wait_until_seen("/campaigns/")


def test_pages_of_a_locked_table_give_up_and_others_go_on(visitor: Visitor) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("LOCK TABLE market_campaign IN ACCESS EXCLUSIVE MODE")
        answers = visitor.see_at_once("/campaigns/")
        assert visitor.see("/parties/")[0] == 200
    assert {status for status, _ in answers} == {503}
    visitor.wait_until_seen("/campaigns/")
