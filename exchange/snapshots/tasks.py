"""Declares the Celery tasks of snapshots; each calls one service."""

from celery.exceptions import SoftTimeLimitExceeded

from exchange.celery import app
from exchange.snapshots import deltas, keys, services


@app.task(name="snapshots.build")
def build(build_id: int) -> None:
    services.run_build(build_id=build_id)


@app.task(name="snapshots.publish_keys")
def publish_keys() -> None:
    keys.publish_keys()


@app.task(name="snapshots.sweep")
def sweep() -> None:
    services.sweep()


@app.task(name="snapshots.write_changes")
def write_changes() -> None:
    try:
        deltas.write_changes()
    except SoftTimeLimitExceeded:
        # Asks for a build, so that what is too much for a delta is not tried every second.
        deltas.ask_for_build("Changes took too long to be written as deltas.")
        raise


@app.task(name="snapshots.build_nightly")
def build_nightly() -> None:
    services.build_nightly()
