"""Tells a person what is up: the address, the demo logins, and a request to paste."""

import argparse
import json
import shlex
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from exchange.launcher.supervisor import HOST, RunOrder

WELCOME_FILE = "welcome.json"
DEMO_PASSWORD = "treeline-demo"  # noqa: S105  (published on purpose)


@dataclass(frozen=True, slots=True)
class Welcome:
    """Roles by login name, and a curl line that holds the demo's API key; both may be empty."""

    logins: dict[str, str]
    curl: str

    @classmethod
    def read(cls, var: Path) -> "Welcome":
        return cls(**json.loads((var / "run" / WELCOME_FILE).read_text()))

    def text(self, order: RunOrder) -> str:
        lines = ["", f"  Treeline runs on http://{HOST}:{order.port}/"]
        lines += [f"  Ad servers ask   http://{HOST}:{order.serving_port}/"]
        if self.logins:
            lines += ["", f"  Demo logins, all with the password {DEMO_PASSWORD}:", ""]
            lines += [f"    {name:10} {role}" for name, role in self.logins.items()]
        if self.curl:
            lines += ["", "  Which campaigns are eligible for a visit? Paste this:", "", self.curl]
        logs = order.var / "log"
        return "\n".join([*lines, "", f"  Ctrl-C ends everything. Logs are in {logs}", ""])

    def request(self) -> urllib.request.Request:
        """Makes what pasting the line would send: read from it, so a wrong line is found out."""
        parser = argparse.ArgumentParser(exit_on_error=False)
        parser.add_argument("-s", action="store_true")
        parser.add_argument("url")
        parser.add_argument("-H", action="append", default=[], dest="headers")
        parser.add_argument("-d", dest="body")
        options = parser.parse_args(shlex.split(self.curl)[1:])
        headers = dict(header.split(": ", 1) for header in options.headers)
        body = options.body.encode()
        return urllib.request.Request(options.url, data=body, headers=headers)  # noqa: S310
