"""The web server's entry: eligibility is answered at once, everything else by Django.

Run it with `granian --interface wsgi exchange.wsgi:application`.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterable
from importlib import import_module
from typing import TYPE_CHECKING

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "exchange.settings")
pages = get_wsgi_application()

from django.conf import settings  # noqa: E402

from exchange.health import watch  # noqa: E402
from exchange.serving.answer_log import AnswerLog, Retention  # noqa: E402
from exchange.serving.downloads import PREFIX, SnapshotDownloads  # noqa: E402
from exchange.serving.eligibility import service_for  # noqa: E402
from exchange.serving.endpoint import BATCH_PATH, PATH, EligibilityEndpoint  # noqa: E402
from exchange.waits import limit_waits_of_pages  # noqa: E402

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

service = service_for(settings.SNAPSHOT_DIR)
eligibility = EligibilityEndpoint(service, settings.ELIGIBILITY_RATE)
snapshots = SnapshotDownloads(service, settings.SNAPSHOT_DIR)
if settings.ANSWER_LOG_EVERY:
    service.keep_answers(
        AnswerLog(
            settings.ANSWER_LOG_DIR,
            every=settings.ANSWER_LOG_EVERY,
            hash_key=settings.SECRET_KEY.encode(),
            retention=Retention(
                days=settings.ANSWER_LOG_DAYS, most_bytes=settings.ANSWER_LOG_MEGABYTES * 1_000_000
            ),
        )
    )

limit_waits_of_pages()
watch.start()

# A full garbage collection over what Django and the libraries keep alive takes 30 to 60 ms, and no
# request is answered meanwhile; what is frozen is never looked at again.
import_module(settings.ROOT_URLCONF)
gc.collect()
gc.freeze()


def application(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    path: str = environ["PATH_INFO"]
    if path == PATH:
        return eligibility(environ, start_response)
    if path == BATCH_PATH:
        return eligibility.batch(environ, start_response)
    if path.startswith(PREFIX):
        return snapshots(environ, start_response)
    return pages(environ, start_response)
