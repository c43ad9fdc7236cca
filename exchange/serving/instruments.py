"""What the eligibility servers count and time, for Prometheus.

With PROMETHEUS_MULTIPROC_DIR set (before the first import, to a folder that is emptied before the
servers start) the numbers of all worker processes add up; without it each process has its own.
"""

from prometheus_client import Counter, Gauge, Histogram

SECONDS = (0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5)

REQUESTS = Counter("treeline_eligibility_requests", "Eligibility requests by status.", ["code"])
LATENCY = Histogram(
    "treeline_eligibility_seconds", "Time in our code per eligibility request.", buckets=SECONDS
)
MATCH_TIME = Histogram(
    "treeline_match_seconds", "Time in the index per eligibility request.", buckets=SECONDS
)
MATCHES = Counter("treeline_matches", "Bookings found eligible.")
SWAPS = Counter("treeline_snapshot_swaps", "Times a server took up a new snapshot.")
FAILED_SWAPS = Counter(
    "treeline_snapshot_failed_swaps", "Times a server could not take up what the directory named."
)
SNAPSHOT_READ_AT = Gauge(
    "treeline_snapshot_read_timestamp_seconds",
    "When Postgres was read for the snapshot that is served.",
    multiprocess_mode="mostrecent",
)
