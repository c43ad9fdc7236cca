"""Runs benchmark programs and keeps their Markdown tables: `python -m bench [name ..] [--full]`."""

import argparse
import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
RESULTS = FOLDER / "results"
NOT_PROGRAMS = {
    "__init__",
    "__main__",
    "addresses",
    "bid_requests",
    "bookings",
    "demo_exchange",
    "exchange_graph",
    "graph",  # asks an exchange that runs
    "hello",
    "in_process",
    "large_market",
    "night_tables",
    "open_loop",
    "paper_report",
    "paper_sharing",
    "paper_studies",
    "paper_workloads",
    "product",
    "questions",
    "rounds",
    "sender",
    "sets",
    "slow_clients",
    "spark_rivals",
    "visit_sets",
    "visit_sql",
    "workloads",
}


def find_programs() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.py") if path.stem not in NOT_PROGRAMS)


def describe_machine() -> str:
    day = f"{datetime.now(UTC):%Y-%m-%d}"
    python = platform.python_version()
    return f"{day}, {os.cpu_count()} cores, {platform.machine()}, Python {python}\n\n"


def run_program(name: str) -> None:
    """Shows the program's lines as they come, and keeps them once it has ended well."""
    lines = [describe_machine()]
    command = [sys.executable, "-m", f"bench.{name}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        for line in program.stdout:
            print(line, end="", flush=True)
            lines.append(line)
    if program.returncode != 0:
        raise SystemExit(f"bench {name} failed with code {program.returncode}")
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.md").write_text("".join(lines))


def main() -> None:
    programs = find_programs()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*programs, []], help=", ".join(programs))
    parser.add_argument("--full", action="store_true", help="the large sets as well")
    options = parser.parse_args()
    if options.full:
        os.environ["TREELINE_BENCH_FULL"] = "1"
    for name in options.names or programs:
        run_program(name)


if __name__ == "__main__":
    main()
