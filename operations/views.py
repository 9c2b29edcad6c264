"""Figures for Prometheus."""

from collections.abc import Iterator
from itertools import accumulate

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.crypto import constant_time_compare
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector

from annotation.models import Assignment, Vote
from publishing.models import Release
from tomannot import beat, clock
from tomannot.celery import app
from tomannot.metrics import BOUNDS, read


@require_safe
@never_cache
def metrics(request: HttpRequest) -> HttpResponse:
    """Render the metrics of all processes for Prometheus. The request must carry METRICS_TOKEN."""
    if not settings.METRICS_TOKEN:
        raise Http404
    given = request.headers.get("Authorization", "")
    if not constant_time_compare(given, f"Bearer {settings.METRICS_TOKEN}"):
        return HttpResponse(status=401, headers={"WWW-Authenticate": "Bearer"})
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Figures())
    return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)


class Figures(Collector):
    """Metrics read from Redis and the database at each scrape, in constant time."""

    def collect(self) -> Iterator[Metric]:
        bounds = [*map(str, BOUNDS), "+Inf"]
        for name, observed in sorted(read().items()):
            names = [label for label, _ in next(iter(observed))]
            family = HistogramMetricFamily(f"tomannot_{name}_seconds", f"Duration of a {name}.", labels=names)
            for labels, parts in observed.items():
                values = [value for _, value in labels]
                counts = accumulate(parts.get(bound, 0.0) for bound in bounds)
                family.add_metric(values, list(zip(bounds, counts, strict=True)), parts.get("sum", 0.0))
            yield family
        queues = GaugeMetricFamily("tomannot_queue_length", "Tasks that wait for a worker.", labels=["queue"])
        with app.connection_for_read() as broker:
            for queue in app.amqp.queues:
                waiting = broker.default_channel.client.llen(queue)  # type: ignore[attr-defined]  # Redis
                queues.add_metric([queue], waiting)
        yield queues
        last = Vote.objects.order_by("-pk").values_list("pk", flat=True).first()
        yield GaugeMetricFamily(
            "tomannot_votes", "Id of the newest vote, nearly the number of votes.", last or 0
        )
        leases = Assignment.objects.filter(state=Assignment.State.LEASED, lease_expires_at__gt=clock.now())
        yield GaugeMetricFamily("tomannot_leases", "Stories that somebody has now.", leases.count())
        unfinished = Release.objects.unfinished().count()
        yield GaugeMetricFamily("tomannot_unfinished_releases", "Releases to be built.", unfinished)
        yield GaugeMetricFamily("tomannot_beat_alive", "Whether beat sends work.", int(beat.is_alive()))
