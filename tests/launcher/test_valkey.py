"""The embedded Valkey: behind a password, and its queue outlives it."""

import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import redis

from exchange.launcher.runfolder import RunFolder
from exchange.launcher.valkey import ValkeyError, ValkeyPlace, find_free_port, start_valkey


@pytest.fixture
def place(tmp_path: Path) -> Iterator[ValkeyPlace]:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    run_folder = RunFolder.create()
    yield ValkeyPlace.choose(folder=home / "valkey", run_folder=run_folder, log=home / "log")
    run_folder.remove()


def test_keeps_its_data_over_a_restart_and_a_kill(place: ValkeyPlace) -> None:
    running = start_valkey(place, dict(os.environ))
    with redis.Redis.from_url(place.url) as client:
        client.rpush("queue", "first")
    running.stop()
    place = replace(place, port=find_free_port())
    running = start_valkey(place, dict(os.environ))
    with redis.Redis.from_url(place.url) as client:
        client.config_set("appendfsync", "always")
        client.rpush("queue", "second")
        running.process.send_signal(signal.SIGKILL)
        running.process.wait()
    running = start_valkey(place, dict(os.environ))
    with redis.Redis.from_url(place.url) as client:
        assert client.lrange("queue", 0, -1) == [b"first", b"second"]
    running.stop()


def test_refuses_strangers_and_shows_its_password_to_nobody(place: ValkeyPlace) -> None:
    running = start_valkey(place, dict(os.environ))
    try:
        stranger = redis.Redis(port=place.port)
        with pytest.raises(redis.AuthenticationError):
            stranger.ping()
        stranger.close()
        assert place.password not in Path(f"/proc/{running.identity.pid}/cmdline").read_text()
        assert not [file for file in place.folder.rglob("*") if holds(file, place.password)]
    finally:
        running.stop()


def holds(file: Path, text: str) -> bool:
    return file.is_file() and text.encode() in file.read_bytes()


def test_says_why_it_does_not_start(place: ValkeyPlace) -> None:
    running = start_valkey(place, dict(os.environ))
    late = replace(place, folder=place.folder.with_name("late"), password="another")
    try:
        with pytest.raises(ValkeyError, match="Address already in use"):
            start_valkey(late, dict(os.environ))
    finally:
        running.stop()
