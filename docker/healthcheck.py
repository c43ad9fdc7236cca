"""Exits 0 if the server in this container may get traffic; what Docker's health check runs.

Its one argument is the port that the server listens on.
"""

import os
import sys
import urllib.request


def main(port: str) -> int:
    # Production mode answers only to its own names.
    host = os.environ.get("TREELINE_ALLOWED_HOSTS", "localhost").split(",")[0]
    request = urllib.request.Request(f"http://127.0.0.1:{port}/readyz", headers={"Host": host})
    try:
        with urllib.request.urlopen(request, timeout=4) as response:  # noqa: S310  (our own server)
            return 0 if response.status == 200 else 1
    except OSError as problem:
        print(problem, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
