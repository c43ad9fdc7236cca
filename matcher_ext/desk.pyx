"""What happens to a plain request of a known caller: admitted, metered, answered, counted (desk.pxd)."""
from posix.time cimport CLOCK_REALTIME, clock_gettime, timespec

from matcher_ext.plain_answers cimport PlainAnswers, read_clock
from matcher_ext.plain_requests cimport PlainRequest, read_request


cdef class Pass:
    def __init__(
        self, str key_hash not None, publishers, double expires_at_seconds, bint may_ask
    ):
        self.key_hash, self.publishers = key_hash, publishers
        self.expires_at_seconds, self.may_ask = expires_at_seconds, may_ask


cdef class Bucket:
    def __init__(self, double per_second, double burst):
        self.per_second, self.burst, self.tokens = per_second, burst, burst
        self.at_seconds = read_clock()

    def take(self, double count=1):
        """How many tokens are lacking; they are taken if none is."""
        return max(self._take(count), 0.0)

    cdef double _take(self, double count) noexcept:
        cdef double lacking = self._lacking(count)
        if lacking <= 0:
            self.tokens -= count
        return lacking

    cdef double _lacking(self, double count) noexcept:
        cdef double now = read_clock()
        self.tokens = min(self.burst, self.tokens + (now - self.at_seconds) * self.per_second)
        self.at_seconds = now
        return min(count, self.burst) - self.tokens


cdef class Times:
    def __init__(self, bounds):
        self.bounds = bounds
        self.counts.assign(self.bounds.size() + 1, 0)

    def add(self, double seconds):
        self._add(seconds)

    def take(self):
        """(counts by bucket, sum of seconds), and begins anew."""
        taken = list(self.counts), self.seconds
        self.counts.assign(self.counts.size(), 0)
        self.seconds = 0
        return taken

    cdef int _add(self, double seconds) except -1:
        cdef size_t bucket = 0
        while bucket < self.bounds.size() and seconds > self.bounds[bucket]:
            bucket += 1
        self.counts[bucket] += 1
        self.seconds += seconds
        return 0


cdef class Unfinished:
    pass


cdef class Counts:
    def __init__(self, bounds):
        self.latency, self.match_time = Times(bounds), Times(bounds)

    def take(self):
        """(requests, matches, latency, match time) since the last time."""
        taken = self.requests, self.matches, self.latency.take(), self.match_time.take()
        self.requests = self.matches = 0
        return taken


cdef class Desk:
    """One for all threads of a process; it keeps nothing but what it was given, and a number."""
    cdef dict buckets                   # by a key's hash
    cdef Counts counts
    cdef uint64_t number

    def __init__(self, dict buckets not None, Counts counts not None):
        self.buckets, self.counts = buckets, counts

    def answer(
        self, PlainAnswers answers not None, dict passes not None, header, bytes body not None,
        uint64_t sample_every=0,
    ):
        """The answer's text, all done; or None, nothing done: the general way has to decide.

        Or Unfinished, where the text is not the whole answer, and for one in `sample_every`, which
        has its ids.
        """
        cdef double started = read_clock(), now = read_wall_clock(), matching
        cdef Pass caller = passes.get(header)
        cdef Bucket bucket
        cdef PlainRequest request
        cdef bint is_sampled
        if caller is None or not caller.may_ask or caller.expires_at_seconds <= now:
            return None
        bucket = self.buckets.get(caller.key_hash)
        if bucket is None or bucket._lacking(1) > 0:
            return None                 # before the match: a refusal must stay cheap
        request = read_request(body)
        if request is None:
            return None
        is_sampled = sample_every and (self.number + 1) % sample_every == 0
        matching = read_clock()
        found = answers._answer(request, caller.publishers, now, is_sampled)
        if found is None or bucket._take(1) > 0:    # again: a match may have let others in
            return None
        self.number += 1
        caller.used_at_seconds = now
        text, count, malformed, _, paths = found
        if is_sampled or malformed or paths is not None:
            return leave(found, request, read_clock() - matching, is_sampled)
        self._count(count, matching, started)
        return text

    cdef int _count(self, uint64_t matches, double matching, double started) except -1:
        cdef double now = read_clock()
        self.counts.requests += 1
        self.counts.matches += matches
        self.counts.match_time._add(now - matching)
        self.counts.latency._add(now - started)
        return 0


cdef Unfinished leave(
    tuple found, PlainRequest request, double match_seconds, bint is_sampled
):
    cdef Unfinished left = Unfinished.__new__(Unfinished)
    left.text, left.count, left.malformed, left.ids, left.paths = found
    left.publisher = request.publisher
    left.limit = request.limit if request.has_limit else None
    left.match_seconds, left.is_sampled = match_seconds, is_sampled
    return left


cdef double read_wall_clock() noexcept nogil:
    cdef timespec now
    clock_gettime(CLOCK_REALTIME, &now)
    return now.tv_sec + now.tv_nsec * 1e-9
