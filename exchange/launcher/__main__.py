"""Reads the launcher's command line: run, check, stop. The Makefile calls it."""

import argparse
import json
import os
import signal
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

from exchange.launcher.java import JavaMissingError
from exchange.launcher.postgres import PostgresError
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
from exchange.launcher.welcome import Welcome

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
    order = _order(var, arguments, "--first-report")
    try:
        with Supervisor.running(order) as supervisor:
            supervisor.say("ready")
            print(Welcome.read(var).text(order), flush=True)
            supervisor.watch()
    except StopRequested:
        print("\nended; everything that was started is gone", flush=True)
    return 0


def check(var: Path, arguments: argparse.Namespace) -> int:
    """Asks a run that is already up; starts one for the question otherwise."""
    if live := RunRecord(var).read_live():
        if not live.is_ready:
            raise LauncherError("Treeline is just starting; try again when it is ready")
        return ask(var)
    try:
        with Supervisor.running(_order(var, arguments)):
            return ask(var)
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


def ask(var: Path) -> int:
    """Sends the request of the pasteable line and prints the answer."""
    welcome = Welcome.read(var)
    if not welcome.curl:
        raise LauncherError("there is no demo to ask; load it with manage.py load_demo")
    request = welcome.request()
    print(f"{request.get_method()} {request.full_url}", file=sys.stderr)
    try:
        with urllib.request.urlopen(request, timeout=30) as response:  # noqa: S310  (our own server)
            answer = json.load(response)
    except urllib.error.HTTPError as problem:
        raise LauncherError(f"{problem}: {problem.read().decode(errors='replace')}") from None
    print(json.dumps(answer, indent=2))
    return 0


def _order(var: Path, arguments: argparse.Namespace, *more: str) -> RunOrder:
    """Makes the order; without a word on it, ad servers ask on the port after that of the pages."""
    sizes = (f"--campaigns={arguments.campaigns}", f"--visits={arguments.visits}")
    next_port = arguments.port + 1 if arguments.port else find_free_port()
    return RunOrder(
        var,
        arguments.port or find_free_port(),
        arguments.serving_port or next_port,
        (*sizes, *more),
    )


def _read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m exchange.launcher", description=__doc__)
    parser.add_argument("command", choices=["run", "check", "stop"])
    parser.add_argument("--port", type=int, default=0, help="a free one by default, for check")
    parser.add_argument("--serving-port", type=int, default=0, help="for ad servers")
    parser.add_argument("--campaigns", type=int, default=3000, help="of the demo exchange")
    parser.add_argument("--visits", type=int, default=20000, help="of the demo's log, per day")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
