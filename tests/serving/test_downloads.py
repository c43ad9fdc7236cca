"""The live snapshot's files, and an ad server that matches and follows by itself with them."""

from __future__ import annotations

import hashlib
import io
import json
import re
import secrets
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from django.conf import settings

from exchange.serving.deltas import Delta, DeltaEntry, DeltaLogFolder
from exchange.serving.directory import Manifest
from matcher_ext.serving import PREFIX
from tests.serving.asking import Client, Reply
from tests.serving.conftest import EligibilityServer
from tests.serving.published import HERALD_KEY, SNAPSHOT_KEY, publish, row

EXPRESSIONS = {
    1: "publisher.id = 'herald' and geo.country = 'USA'",
    2: "publisher.id = 'herald' and user.segments one of ('cars')",
    3: "publisher.id = 'herald' and time >= '2020-01-01T00:00:00Z'",
    4: "publisher.id = 'tribune'",
}


@pytest.fixture(autouse=True)
def live_snapshot(eligibility_server: EligibilityServer) -> str:
    client = Client(eligibility_server.port)
    snapshot_id = publish(eligibility_server.directory, EXPRESSIONS, prices={3: 9.5})
    eligibility_server.wait_for(snapshot_id, client)
    client.close()
    return snapshot_id


def get(client: Client, name: str, key: str | None = SNAPSHOT_KEY) -> Reply:
    headers = {} if key is None else {"Authorization": f"Api-Key {key}"}
    return client.send(None, method="GET", path=PREFIX + name, headers=headers)


def test_live_names_the_snapshot_and_its_files(client: Client, live_snapshot: str) -> None:
    document = get(client, "live").document()
    assert document["snapshot_id"] == live_snapshot
    assert (document["delta"], document["bookings"]) == (0, 4)
    for path in document["files"].values():
        assert get(client, path.removeprefix(PREFIX)).status == 200


def test_files_are_those_of_the_directory(
    client: Client, live_snapshot: str, eligibility_server: EligibilityServer
) -> None:
    index = eligibility_server.directory.folder(live_snapshot) / "index.atree"
    assert get(client, f"{live_snapshot}/index.atree").body == index.read_bytes()
    lines = get(client, f"{live_snapshot}/bookings.jsonl").body.splitlines()
    assert [json.loads(line)["booking_id"] for line in lines] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    "name",
    [
        "",
        "Live",
        "0" * 32 + "/index.atree",
        "../keys.json",
        "..%2fkeys.json",
        "%s/info.json",
        "%s/",
    ],
)
def test_nothing_else_is_there(client: Client, live_snapshot: str, name: str) -> None:
    reply = get(client, name.replace("%s", live_snapshot))
    assert (reply.status, reply.document()["code"]) == (404, "not_found")


def test_scope_is_its_own(client: Client) -> None:
    assert get(client, "live", key=None).status == 401
    assert get(client, "live", HERALD_KEY).document()["code"] == "scope_missing"
    assert get(client, "live", HERALD_KEY).status == 403
    headers = {"Authorization": f"Api-Key {SNAPSHOT_KEY}"}
    assert client.send(b"", path=PREFIX + "live", headers=headers).status == 405


def change_beside(server: EligibilityServer, snapshot_id: str, client: Client) -> None:
    """Ends booking 1, gives 2 another text and price, adds 5; then changes 5 once more."""
    now, log_id = datetime.now(UTC), secrets.token_hex(8)
    server.directory.publish(
        Manifest(snapshot_id=snapshot_id, read_at=now, activated_at=now, delta=40, log_id=log_id)
    )
    everyone = "publisher.id = 'herald'"
    changes = [
        {
            "entries": (
                DeltaEntry(row(2, net_cpm=20.0), everyone),
                DeltaEntry(row(5, net_cpm=3.0), everyone),
            ),
            "dead": (1, 2),
        },
        {"entries": (DeltaEntry(row(5, net_cpm=2.0), "user.age > 5"),), "dead": (5,)},
    ]
    log = DeltaLogFolder(server.directory, log_id)
    for number, change in enumerate(changes, 41):
        delta = Delta(log_id=log_id, number=number, position="", read_at=now, **change)  # type: ignore[arg-type]
        log.write(delta)
    server.wait_for(snapshot_id, client, delta=42)


def test_deltas_are_sent_after_the_number_that_one_has(
    eligibility_server: EligibilityServer, client: Client, live_snapshot: str
) -> None:
    path = f"{live_snapshot}/deltas.jsonl"
    assert get(client, path).body == b""
    change_beside(eligibility_server, live_snapshot, client)
    assert get(client, "live").document()["files"]["deltas.jsonl"] == PREFIX + path
    for after, expected in [("", [41, 42]), ("?after=41", [42]), ("?after=42", [])]:
        lines = get(client, path + after).body.splitlines()
        assert [json.loads(line)["number"] for line in lines] == expected
    for wrong in ("x", "-1", "1.5", "9" * 30):
        assert get(client, f"{path}?after={wrong}").status == 400


def embed(client: Client, visits: list[dict[str, object]], folder: Path) -> list[object]:
    """Runs the README's lines, with the engine alone, its last one for several visits."""
    readme = (settings.BASE_DIR / "README.md").read_text()
    (program,) = re.findall(r"```python\n(from matcher_ext.following.*?)```", readme, re.DOTALL)
    program = program.replace("http://127.0.0.1:8001", f"http://127.0.0.1:{client.port}")
    program = program.replace("tl_...", SNAPSHOT_KEY).replace("alpine-news", "herald")
    *beginning, last = program.splitlines()
    program = "\n".join(
        ["import json, sys", *beginning, f"for visit in {visits!r}:", f"    {last}"]
    )
    program += "\n    print(json.dumps(eligible))\n"
    program += "assert not {'django', 'pyarrow', 'msgspec'} & set(sys.modules)\n"
    path = [str(settings.BASE_DIR)]
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = {path!r}\n{program}"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


VISITS: list[dict[str, object]] = [
    {"geo.country": "USA"},
    {"user.segments": ["cars", "x"]},
    {"user.age": 7},
]


def test_embedded_matcher_answers_as_the_api_does(client: Client, tmp_path: Path) -> None:
    embedded = embed(client, VISITS, tmp_path)
    assert embedded == [client.ask(visit).document()["eligible"] for visit in VISITS]
    assert [len(eligible) for eligible in embedded] == [2, 2, 1]  # type: ignore[arg-type]


def test_embedded_matcher_answers_as_the_api_does_after_changes(
    eligibility_server: EligibilityServer, client: Client, live_snapshot: str, tmp_path: Path
) -> None:
    before = [client.ask(visit).document()["eligible"] for visit in VISITS]
    change_beside(eligibility_server, live_snapshot, client)
    embedded = embed(client, VISITS, tmp_path)
    assert embedded == [client.ask(visit).document()["eligible"] for visit in VISITS]
    assert [len(eligible) for eligible in embedded] == [2, 2, 3]  # type: ignore[arg-type]
    assert embedded != before


def test_hashes_are_of_the_files_and_of_the_snapshots_name(
    client: Client, live_snapshot: str
) -> None:
    hashes = get(client, f"{live_snapshot}/hashes.json").document()
    for name in ("index.atree", "bookings.jsonl", "terms.npy", "catalog.json"):
        body = get(client, f"{live_snapshot}/{name}").body
        assert hashlib.sha256(body).hexdigest() == hashes[name]
    built = [hashes[name] for name in ("index.atree", "bookings.arrow", "catalog.json")]
    digest = hashlib.sha256(b"".join(map(bytes.fromhex, built)))
    assert digest.hexdigest()[:32] == live_snapshot


def test_terms_are_what_places_in_answers_depend_on(client: Client, live_snapshot: str) -> None:
    terms = np.load(io.BytesIO(get(client, f"{live_snapshot}/terms.npy").body))
    assert terms["booking_id"].tolist() == [1, 2, 3, 4]
    assert terms["net_cpm"].tolist() == terms["price"].tolist() == [1.0, 1.0, 9.5, 1.0]
    assert terms["rank"].tolist() == [1, 2, 0, 3]
    lines = get(client, f"{live_snapshot}/bookings.jsonl").body.splitlines(keepends=True)
    assert terms["line_bytes"].tolist() == [len(line) for line in lines]


def test_changes_of_another_log_are_not_sent(client: Client, live_snapshot: str) -> None:
    document = get(client, "live").document()
    path = f"{live_snapshot}/deltas.jsonl"
    assert get(client, f"{path}?log={document['log_id']}").status == 200
    assert get(client, f"{path}?log={'0' * 16}").status == 404
