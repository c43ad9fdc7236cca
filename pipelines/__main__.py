"""Runs a job by its name: `python -m pipelines eligibility --help` says what one needs.

Under spark-submit, from the checkout: `PYTHONPATH=. spark-submit pipelines/__main__.py ingest ..`.
"""

import sys
from collections.abc import Sequence
from importlib import import_module

# Jobs of a day, in the order in which `nightly` runs them: all take the same options, and have a
# `JOB`.
DAY_JOBS = {
    "quarantine": "list the rows of a day that no report counts, with their reasons",
    "eligibility": "count the visits and people that each campaign was eligible for",
    "reach": "unite the people of 1, 7 and 28 days",
    "funnel": "say where visits are lost on the way to each booking",
    "overlap": "find campaigns that are eligible for the same visits and people",
    "truth_rates": "count how often each condition and edge was true, false, unknown",
    "schain_audit": "hold observed supply chains against the graph",
    "data_quality": "say what the traffic carries: fill rates, values, drift",
    "forecast": "expect the next week, measure the last one, find dead targeting",
    "sample": "keep a sample of users with all of their visits",
    "parity": "give sampled answers of ad servers again, and tell which differ",
}
NIGHTLY = "nightly"
# Jobs of a day that somebody asks for.
ASKED_JOBS = {"whatif": "hold a draft, or another snapshot, against the live one"}
# Others, which have a `main` of their own.
JOBS = {
    "compact": "bring what servers logged into its day, sorted by publisher",
    "ingest": "turn a log of OpenRTB bid requests into a day of the visit log",
    "forget": "take one user out of the logs",
}


def main(arguments: Sequence[str] | None = None) -> int:
    given = list(sys.argv[1:] if arguments is None else arguments)
    name = given[0].replace("-", "_") if given else ""
    if name in JOBS:
        status: int = import_module(f"pipelines.{name}").main(given[1:])
        return status
    if name == NIGHTLY or name in DAY_JOBS | ASKED_JOBS:
        return run_day_jobs(name, given[1:])
    print(describe_jobs())
    return 0 if given in (["--help"], ["-h"]) else 2


def run_day_jobs(name: str, arguments: Sequence[str]) -> int:
    names = DAY_JOBS if name == NIGHTLY else [name]
    jobs = [import_module(f"pipelines.{each}").JOB for each in names]
    status: int = import_module("pipelines.day_jobs").main(jobs, arguments, program=name)
    return status


def describe_jobs() -> str:
    nightly = {NIGHTLY: "all of the above for a day, over one judged input"}
    jobs = DAY_JOBS | nightly | ASKED_JOBS | JOBS
    lines = [f"  {name:18}{what}" for name, what in jobs.items()]
    return "\n".join(["python -m pipelines JOB [OPTIONS], where JOB is one of", "", *lines])


if __name__ == "__main__":
    sys.exit(main())
