"""Runs every benchmark program (`bench/bench_*.py`) and keeps what they print in `bench/results`.

A program prints one Markdown table to stdout; its docstring's first line becomes the heading.
"""

import ast
import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

HERE = Path(__file__).parent


def main() -> int:
    programs = sorted(HERE.glob("bench_*.py"))
    if not programs:
        print("there are no benchmark programs (bench/bench_*.py) yet")
        return 0
    report = "\n".join([heading(), *(measure(program) for program in programs)])
    file = HERE / "results" / f"{datetime.now(UTC):%Y-%m-%d-%H%M}.md"
    file.parent.mkdir(exist_ok=True)
    file.write_text(report)
    print(report)
    print(f"written to {file}")
    return 0


def heading() -> str:
    day = f"{datetime.now(UTC):%Y-%m-%d}"
    return f"# {day}, {os.cpu_count()} cores, {platform.machine()}, {platform.python_version()}\n"


def measure(program: Path) -> str:
    print(f"running {program.stem}", file=sys.stderr)
    about = (ast.get_docstring(ast.parse(program.read_text())) or program.stem).splitlines()[0]
    command = [sys.executable, "-m", f"bench.{program.stem}", *sys.argv[1:]]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return f"## {program.stem}\n\n{about}\n\n{done.stdout}\n"


if __name__ == "__main__":
    sys.exit(main())
