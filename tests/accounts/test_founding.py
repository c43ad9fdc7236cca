"""The beginning of an exchange, by options, by the environment and at a terminal."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from io import StringIO

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.test import Client

from exchange.accounts.founding import AlreadyFoundedError, found_exchange
from exchange.accounts.models import Organisation, Role, User
from exchange.accounts.permissions import may_edit
from tests.conftest import environment_of_the_tests
from tests.rivals import overlap

COMMAND = [sys.executable, "manage.py", "found_exchange"]


def run(*arguments: str) -> tuple[str, str]:
    stdout, stderr = StringIO(), StringIO()
    call_command("found_exchange", *arguments, stdout=stdout, stderr=stderr)
    return stdout.getvalue().strip(), stderr.getvalue()


@pytest.mark.django_db
def test_by_options_a_link_is_all_that_is_printed(client: Client) -> None:
    link, said = run("--organisation=Acme", "--username=ada", "--url=http://testserver/", "--link")
    ada = User.objects.get()
    assert (ada.username, ada.role, ada.is_superuser) == ("ada", Role.ADMIN, False)
    assert ada.organisation == Organisation.objects.get(name="Acme", is_operator=True)
    assert may_edit(ada, "organisation")
    assert link not in said
    chosen = {"new_password1": "quiet-otter-39", "new_password2": "quiet-otter-39"}
    assert client.post(link, chosen).status_code == 302
    logged_in = client.post("/login/", {"username": "ada", "password": "quiet-otter-39"})
    assert logged_in["Location"] == "/"


@pytest.mark.django_db
def test_a_second_time_is_refused_and_changes_nothing() -> None:
    run("--organisation=Acme", "--username=ada", "--link")
    with pytest.raises(CommandError, match="founded already: Acme"):
        run("--organisation=Other", "--username=eve", "--link")
    assert Organisation.objects.get().name == "Acme"
    assert User.objects.get().username == "ada"


@pytest.mark.django_db
def test_what_cannot_be_asked_must_be_said() -> None:
    with pytest.raises(CommandError, match="Organisation: This field cannot be blank"):
        run("--username=ada", "--link")
    with pytest.raises(CommandError, match="Login name"):
        run("--organisation=Acme", "--username=a da", "--link")
    assert not Organisation.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_of_two_who_found_it_at_once_one_is_refused() -> None:
    def found(name: str) -> object:
        try:
            return found_exchange(organisation=name, username=name)
        except AlreadyFoundedError as error:
            return error

    answers = overlap(lambda: found("first"), lambda: found("second"))
    assert sum(isinstance(answer, AlreadyFoundedError) for answer in answers) == 1
    assert Organisation.objects.count() == User.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_at_a_terminal_it_asks_and_shows_no_password() -> None:
    """Asks again for what is wrong."""
    master, slave = pty.openpty()
    environment = {**environment_of_the_tests(), "TREELINE_FOUND_USERNAME": "ada"}
    with subprocess.Popen(
        COMMAND,
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env=environment,
        cwd=settings.BASE_DIR,
        start_new_session=True,
    ) as command:
        os.close(slave)
        heard = ""
        for question, answer in [
            ("Organisation: ", ""),
            ("Organisation: ", "Acme"),
            ("for a link): ", "short"),
            ("for a link): ", "quiet-otter-39"),
            ("same again: ", "another-otter"),
            ("for a link): ", "quiet-otter-39"),
            ("same again: ", "quiet-otter-39"),
        ]:
            heard += read_until(master, question)
            os.write(master, f"{answer}\n".encode())
        heard += read_until(master, "administers it.")
        command.wait()
    os.close(master)
    assert command.returncode == 0, heard
    assert "quiet-otter-39" not in heard
    assert "too short" in heard
    assert User.objects.get().check_password("quiet-otter-39")


def read_until(master: int, text: str) -> str:
    heard = ""
    while text not in heard:
        heard += os.read(master, 1024).decode()
    return heard
