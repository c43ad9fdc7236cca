"""Loads pages, REST API and admin as one WSGI application; `exchange.pages` serves it.

Ad servers are answered by a process of their own (`exchange.serving`).
"""

from __future__ import annotations

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "exchange.settings")
application = get_wsgi_application()
