"""Where memory ends, making and asking a table raise MemoryError: no crash, no other answer.

A library stands before the allocator of C++ and refuses the nth request that the engine's rooms
`columns` and `tables` make, for every n until a call needs no more than were granted.
"""

from __future__ import annotations

import ctypes
import gc
import os
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from matcher_ext import VisitTable
from tests.matcher_ext.expressions import CATALOG
from tests.matcher_ext.test_batch import to_batch
from tests.matcher_ext.test_table_passes import PATH, freeze_exchange
from tests.matcher_ext.test_visit_table import draw_many

CHECKOUT = Path(__file__).resolve().parents[2]
LIBRARY = r"""
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <new>
static long left = 0;
static bool is_asked_by_tables(void* caller) {
    Dl_info info;
    return dladdr(caller, &info) && info.dli_fname
        && (std::strstr(info.dli_fname, "matcher_ext/columns/")
            || std::strstr(info.dli_fname, "matcher_ext/tables/"));
}
extern "C" void refuse(long number) { left = number; }
extern "C" long granted() { return left; }
void* operator new(std::size_t size) {
    if (left > 0 && is_asked_by_tables(__builtin_return_address(0)) && --left == 0)
        throw std::bad_alloc();
    if (void* memory = std::malloc(size ? size : 1)) return memory;
    throw std::bad_alloc();
}
"""
ENTRIES = {
    1: "publisher = 'US' and @reach.9.3 and age != 7",
    2: f"{PATH} and segments one of ('cars')",
    3: "not mobile or place within 900 km of (1, 1) or address in network ('10.1.0.0/16')",
    4: "publisher = 'DE' and country ends with '7' and count(segments) >= 1",
}


def list_questions() -> dict[str, Callable[[VisitTable], Any]]:
    """What is asked, each with an index that the table has not met before."""
    snapshot = freeze_exchange(ENTRIES)
    return {
        "count": lambda table: table.count(snapshot).tolist(),
        "groups": lambda table: table.count(snapshot, groups=True).tolist(),
        "bitmap": lambda table: [
            each.tolist() for each in table.bitmap("@edge.12 or age in (1, 2, 9)", snapshot)
        ],
        "funnel": lambda table: dict(table.funnel(snapshot)),
        "sole blockers": lambda table: dict(table.sole_blockers(snapshot)),
        "cheapest": lambda table: table.cheapest(snapshot),
        "bottlenecks": lambda table: table.bottlenecks(snapshot),
        "overlap": lambda table: table.overlap(snapshot, support=1),
        "users": lambda table: table.users(snapshot).tolist(),
        "impact": lambda table: table.impact("age > 3 or mobile", bookings=[PATH], index=snapshot),
    }


SEEN = to_batch(draw_many(40))


def make_table() -> VisitTable:
    return VisitTable.from_arrow(
        SEEN, CATALOG, by="publisher", groups=("country",), users="country"
    )


def refuse_each(name: str, call: Callable[[], Any], expected: Any) -> int:
    """Calls until nothing is refused any more; returns how many requests for memory there were."""
    allocator = ctypes.CDLL(None)
    allocator.granted.restype = ctypes.c_long
    number = 0
    while True:
        number += 1
        allocator.refuse(ctypes.c_long(number))
        try:
            answer = call()
        except MemoryError:
            allocator.refuse(ctypes.c_long(0))
            continue
        is_done = allocator.granted() > 0
        allocator.refuse(ctypes.c_long(0))
        assert answer == expected, (name, number)
        if is_done:
            return number


def refuse_all() -> None:
    """Runs in a process with the library; prints how many requests each call has."""
    unraised: list[object] = []
    sys.unraisablehook = lambda event: unraised.append((event.object, event.exc_value))
    gc.disable()
    table = make_table()
    wanted = sorted(str(visit) for visit in table.visits())
    print("make", refuse_each("make", lambda: sorted_visits(make_table()), wanted))
    for name, ask in list_questions().items():
        expected = ask(table)
        # A new table has bound no index yet.
        tables = iter(make_table, None)
        print(name, refuse_each(name, prepare_call(ask, tables), expected))
    assert not unraised, unraised[:5]


def sorted_visits(table: VisitTable) -> list[str]:
    return sorted(str(visit) for visit in table.visits())


def prepare_call(ask: Callable[[VisitTable], Any], tables: Any) -> Callable[[], Any]:
    def call() -> Any:
        allocator = ctypes.CDLL(None)
        allocator.granted.restype = ctypes.c_long
        number = allocator.granted()
        allocator.refuse(ctypes.c_long(0))
        table = next(tables)
        allocator.refuse(ctypes.c_long(number))
        return ask(table)

    return call


def build_library(folder: Path) -> Path:
    source, library = folder / "refusing.cpp", folder / "refusing.so"
    source.write_text(LIBRARY)
    compiler = sysconfig.get_config_var("CXX").split()[0]
    command = [compiler, "-O1", "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"]
    subprocess.run(command, check=True, capture_output=True)
    return library


@pytest.mark.soak
@pytest.mark.fuzzing
@pytest.mark.skipif(sys.platform != "linux", reason="the library is loaded as Linux does it")
def test_every_request_for_memory_may_be_refused(tmp_path: Path) -> None:
    library = build_library(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", f"import {__name__} as here; here.refuse_all()"],
        cwd=CHECKOUT,
        env=os.environ | {"LD_PRELOAD": str(library)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-1000:] + done.stderr[-3000:]
    lines = [line.rsplit(" ", 1) for line in done.stdout.splitlines()]
    requests = {name: int(count) for name, count in lines}
    assert requests.keys() == {"make", *list_questions()}
    # Each of them asks for memory, or else nothing was refused.
    assert min(requests.values()) > 20, requests
