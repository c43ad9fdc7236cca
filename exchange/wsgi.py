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

from exchange.serving import endpoint  # noqa: E402
from exchange.serving.eligibility import service_for  # noqa: E402

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

eligibility = endpoint.EligibilityEndpoint(service_for(settings.SNAPSHOT_DIR))

# A full garbage collection over what Django and the libraries keep alive takes 30 to 60 ms, and no
# request is answered meanwhile; what is frozen is never looked at again.
import_module(settings.ROOT_URLCONF)
gc.collect()
gc.freeze()


def application(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    if environ["PATH_INFO"] == endpoint.PATH:
        return eligibility(environ, start_response)
    return pages(environ, start_response)
