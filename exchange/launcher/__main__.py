"""The launcher's command line: run, check, stop. The Makefile calls it."""

import argparse
import json
import os
import shlex
import signal
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

from exchange.launcher.java import JavaMissingError
from exchange.launcher.postgres import PostgresError
from exchange.launcher.prepare import WELCOME_FILE
from exchange.launcher.state import AlreadyRunningError, RunRecord
from exchange.launcher.supervisor import (
    CHECKOUT,
    HOST,
    LauncherError,
    RunOrder,
    StopRequested,
    Supervisor,
)
from exchange.launcher.valkey import ValkeyError, find_free_port

Command = Callable[[Path, argparse.Namespace], int]


def main() -> int:
    arguments = _read_arguments()
    var = Path(os.environ.get("TREELINE_VAR") or CHECKOUT / "var").resolve()
    commands: dict[str, Command] = {"run": run, "check": check, "stop": stop}
    try:
        var.mkdir(mode=0o700, parents=True, exist_ok=True)
        return commands[arguments.command](var, arguments)
    except AlreadyRunningError:
        state = RunRecord(var).read_live()
        where = f" on http://{HOST}:{state.port}/" if state else ""
        print(f"Treeline already runs{where}; end it with make stop", file=sys.stderr)
    except PermissionError as problem:
        print(f"{problem}: run as the user who owns it", file=sys.stderr)
    except (LauncherError, JavaMissingError, PostgresError, ValkeyError) as problem:
        print(problem, file=sys.stderr)
    return 1


def run(var: Path, arguments: argparse.Namespace) -> int:
    try:
        with Supervisor.running(_order(var, arguments.port, arguments)) as supervisor:
            supervisor.say("ready")
            print(welcome(var, arguments.port), flush=True)
            supervisor.watch()
    except StopRequested:
        print("\nended; everything that was started is gone", flush=True)
    return 0


def check(var: Path, arguments: argparse.Namespace) -> int:
    """Uses a run that is already up, starts one for the question otherwise."""
    if live := RunRecord(var).read_live():
        if not live.is_ready:
            raise LauncherError("Treeline is just starting; try again when it is ready")
        return ask(var, live.port)
    port = arguments.port or find_free_port()
    try:
        with Supervisor.running(_order(var, port, arguments)):
            return ask(var, port)
    except StopRequested:
        return 130


def stop(var: Path, _arguments: argparse.Namespace, *, seconds: float = 60) -> int:
    record = RunRecord(var)
    live = record.read_live()
    if not live:
        print("Treeline does not run here")
        return 0
    live.launcher.send(signal.SIGTERM)
    give_up = time.monotonic() + seconds
    while live.launcher.is_alive() and time.monotonic() < give_up:
        time.sleep(0.1)
    print("ended" if not live.launcher.is_alive() else "still ending")
    return int(live.launcher.is_alive())


def ask(var: Path, port: int) -> int:
    """Sends the request of the pasteable line and prints the answer."""
    request = _request_of(_read_welcome(var)["curl"], port)
    print(f"{request.get_method()} {request.full_url}", file=sys.stderr)
    try:
        with urllib.request.urlopen(request, timeout=30) as response:  # noqa: S310  (our own server)
            answer = json.load(response)
    except urllib.error.HTTPError as problem:
        raise LauncherError(f"{problem}: {problem.read().decode(errors='replace')}") from None
    print(json.dumps(answer, indent=2))
    return 0


def _request_of(curl: str, port: int) -> urllib.request.Request:
    """The request that pasting the line would send; parsed, so that a wrong line is found out."""
    parser = argparse.ArgumentParser(exit_on_error=False)
    parser.add_argument("url")
    parser.add_argument("-H", "--header", action="append", default=[])
    parser.add_argument("-d", "--data", "--data-raw", "--json")
    parser.add_argument("-s", "--silent", "-sS", action="store_true")
    parser.add_argument("-X", "--request")
    options = parser.parse_args(shlex.split(curl.replace("\\\n", " "))[1:])
    headers = dict(header.split(": ", 1) for header in options.header)
    path = options.url.partition("//")[2].partition("/")[2]
    return urllib.request.Request(
        f"http://{HOST}:{port}/{path}", data=options.data.encode(), headers=headers
    )


def welcome(var: Path, port: int) -> str:
    words = _read_welcome(var)
    lines = ["", f"  Treeline runs on  http://{HOST}:{port}/"]
    if words["logins"]:
        names = ", ".join(words["logins"])
        lines += [f"  demo logins       {names}", "  their password    treeline-demo"]
    if words["curl"]:
        lines += ["", "  Ask which campaigns are eligible for a visit:", "", words["curl"]]
    return "\n".join([*lines, "", "  Ctrl-C ends everything; logs are in " + str(var / "log"), ""])


def _read_welcome(var: Path) -> dict[str, str]:
    words: dict[str, str] = json.loads((var / "run" / WELCOME_FILE).read_text())
    return words


def _order(var: Path, port: int, arguments: argparse.Namespace) -> RunOrder:
    sizes = (f"--campaigns={arguments.campaigns}", f"--visits={arguments.visits}")
    return RunOrder(var, port, sizes)


def _read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m exchange.launcher", description=__doc__)
    parser.add_argument("command", choices=["run", "check", "stop"])
    parser.add_argument("--port", type=int, default=0, help="a free one by default, for check")
    parser.add_argument("--campaigns", type=int, default=3000, help="of the demo exchange")
    parser.add_argument("--visits", type=int, default=20000, help="of the demo's log, per day")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
