"""The shared cases through HTTP: the endpoint is one of the judges of the language."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

import pytest

from targeting import Catalog
from tests.cases import Case, load_cases
from tests.serving.asking import Client
from tests.serving.conftest import EligibilityServer
from tests.serving.published import publish

# The server stamps `time`, so cases that set it ask for the same attribute by another name.
TIME = re.compile(r"\btime\b")


def without_time(case: Case) -> Case:
    renamed = [replace(each, name=TIME.sub("moment", each.name)) for each in case.catalog]
    return replace(
        case,
        catalog=Catalog(renamed),
        expressions={key: TIME.sub("moment", text) for key, text in case.expressions.items()},
        visit={TIME.sub("moment", name): value for name, value in case.visit.items()},
    )


def by_file() -> Iterator[tuple[str, list[Case]]]:
    groups: defaultdict[str, list[Case]] = defaultdict(list)
    for case in load_cases():
        groups[case.name.partition(":")[0]].append(without_time(case))
    yield from groups.items()


@pytest.mark.parametrize(
    ("name", "cases"), [pytest.param(*group, id=group[0]) for group in by_file()]
)
def test_endpoint_agrees_with_the_cases(
    eligibility_server: EligibilityServer, client: Client, name: str, cases: list[Case]
) -> None:
    snapshot_id = publish(
        eligibility_server.directory, cases[0].expressions, catalog=cases[0].catalog
    )
    eligibility_server.wait_for(snapshot_id, client)
    found = {case.name: sorted(client.ask(case.visit).booking_ids()) for case in cases}
    assert found == {case.name: case.expected for case in cases}
