"""Routes everything that an ad servers' process answers, by its address."""

from __future__ import annotations

from urllib.parse import unquote

from httptools import HttpParserInvalidURLError, parse_url

from exchange.serving.answer_log import AnswerLog
from exchange.serving.configuration import Configuration
from exchange.serving.directory import SnapshotDirectory
from exchange.serving.downloads import SnapshotDownloads
from exchange.serving.eligibility import EligibilityService, service_for
from exchange.serving.endpoint import BATCH_PATH, PATH, EligibilityEndpoint
from exchange.serving.http.messages import Request, Route
from exchange.serving.kept import Retention
from exchange.serving.operating import Health, Metrics, Nowhere, Readiness
from exchange.serving.visit_log import VisitLog
from matcher_ext.serving import PREFIX
from targeting.visit_log import Salts


class Application:
    """The routes of a process. An address that is written as we write it is found at once."""

    def __init__(self, service: EligibilityService, configuration: Configuration) -> None:
        self._service = service
        eligibility = EligibilityEndpoint(service, configuration.visits_per_second)
        self.nowhere: Route = Nowhere()
        self._snapshots = SnapshotDownloads(service, configuration.snapshot_dir)
        self._routes: dict[str, Route] = {
            PATH: eligibility,
            BATCH_PATH: eligibility.batch,
            "/healthz": Health(),
            "/readyz": Readiness(service),
            "/metrics": Metrics(service, configuration.metrics_token),
        }
        self._known = {path.encode(): (path, route) for path, route in self._routes.items()}

    def finish(self) -> None:
        """Writes down what was counted and kept since the last time."""
        self._service.write_down(at_once=True)

    def find(self, target: bytes, request: Request) -> Route:
        known = self._known.get(target)
        if known is not None:
            request.path, route = known
            return route
        try:
            url = parse_url(target)
        except HttpParserInvalidURLError:
            return self.nowhere
        request.path = unquote((url.path or b"").decode("latin-1"))
        request.query = (url.query or b"").decode("latin-1")
        if request.path.startswith(PREFIX):
            return self._snapshots
        return self._routes.get(request.path, self.nowhere)


def make_application(configuration: Configuration) -> Application:
    """Makes the application with a service that follows the snapshot directory and logs as
    configured."""
    service = service_for(configuration.snapshot_dir)
    if configuration.answers_every:
        service.keep_answers(
            AnswerLog(
                configuration.answers_dir,
                every=configuration.answers_every,
                salt=configuration.answers_salt.encode(),
                retention=Retention(configuration.answers_days, configuration.answers_bytes),
                directory=SnapshotDirectory(configuration.snapshot_dir),
            )
        )
    if configuration.visits_one_in:
        service.log_visits(
            VisitLog(
                configuration.visits_dir,
                one_in=configuration.visits_one_in,
                salts=Salts(configuration.visits_salt.encode()),
                retention=Retention(configuration.visits_days, configuration.visits_bytes),
            )
        )
    return Application(service, configuration)
