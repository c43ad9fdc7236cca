"""Every job by its name: `python -m pipelines ingest --help` says what one needs.

Under spark-submit, from the checkout: `PYTHONPATH=. spark-submit pipelines/__main__.py ingest ..`.
"""

import sys
from collections.abc import Sequence
from importlib import import_module

# The module, and what it does.
JOBS = {
    "eligible-visits": (
        "eligible_visits",
        "count the visits that each campaign was eligible for",
    ),
    "compact": ("compact", "bring what servers logged into its day, sorted by publisher"),
    "ingest": ("ingest", "turn a log of OpenRTB bid requests into a day of the visit log"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    given = list(sys.argv[1:] if arguments is None else arguments)
    if not given or given[0] not in JOBS:
        print(describe_jobs())
        return 0 if given in (["--help"], ["-h"]) else 2
    module, _ = JOBS[given[0]]
    status: int = import_module(f"pipelines.{module}").main(given[1:])
    return status


def describe_jobs() -> str:
    lines = [f"  {name:18}{what}" for name, (_, what) in JOBS.items()]
    return "\n".join(["python -m pipelines JOB [OPTIONS], where JOB is one of", "", *lines])


if __name__ == "__main__":
    sys.exit(main())
