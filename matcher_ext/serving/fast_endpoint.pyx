"""Admits, meters, answers and counts the requests of known callers
(fast_endpoint.pxd)."""
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport uint32_t, uint64_t
from posix.time cimport CLOCK_REALTIME, clock_gettime, timespec

from matcher_ext.machine.links cimport NOTHING
from matcher_ext.requests.bid_requests cimport count_visits
from matcher_ext.requests.json_requests cimport read_asked
from matcher_ext.requests.json_tape cimport (
    BROKEN, OBJECT, OVER, Elements, Tape, Text, Token, begin_elements, read_element,
    read_tape, text_of,
)
from matcher_ext.serving.state_answers cimport StateAnswers, Workplace, read_clock


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
        """Takes so many tokens, if they are there; returns how many are lacking."""
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
        """Returns (counts by bucket, sum of seconds), and begins anew."""
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


cdef class Counts:
    def __init__(self, bounds):
        self.latency, self.match_time = Times(bounds), Times(bounds)
        self.malformed = {}

    def take(self):
        """Returns (requests, matches, latency, match time, malformed, visits with unknown names)
        since the last time, and begins anew."""
        taken = (
            self.requests, self.matches, self.latency.take(), self.match_time.take(),
            self.malformed, self.has_unknown,
        )
        self.requests = self.matches = self.has_unknown = 0
        self.malformed = {}
        return taken

    cdef int _add(self, Workplace work, double seconds) except -1:
        cdef size_t i
        self.requests += 1
        self.matches += work.matches
        self.has_unknown += work.has_unknown
        self.latency._add(seconds)
        for i in range(work.match_seconds.size()):
            self.match_time._add(work.match_seconds[i])
        for name in work.malformed:
            self.malformed[name] = self.malformed.get(name, 0) + 1
        return 0


cdef class Desk:
    """Answers for all threads of a process; it holds what it was given, memory to work in, the
    number of visits so far, and what is to be kept of them."""
    cdef dict buckets                   # by a key's hash
    cdef Counts counts
    cdef uint64_t number                # of visits that were answered
    cdef list pool                      # of Workplace, idle
    cdef list kept

    def __init__(self, dict buckets not None, Counts counts not None):
        self.buckets, self.counts = buckets, counts
        self.pool, self.kept = [], []

    def answer(
        self, StateAnswers answers not None, dict passes not None, header, bytes body not None,
        uint64_t sample_every=0, uint64_t log_one_in=0,
    ):
        """Answers a request, with all that belongs to it, and returns the text; or does nothing and
        returns None: the general way has to decide."""
        cdef double started = read_clock(), now = read_wall_clock()
        cdef Pass caller = passes.get(header)
        cdef Bucket bucket
        cdef Workplace work
        if caller is None or not caller.may_ask or caller.expires_at_seconds <= now:
            return None
        bucket = self.buckets.get(caller.key_hash)
        if bucket is None or bucket._lacking(1) > 0:
            return None                 # before anything is read: a refusal must stay cheap
        work = self.pool.pop() if self.pool else Workplace.__new__(Workplace)
        work._begin(self.number, sample_every, log_one_in)
        text = self._answer(answers, caller, bucket, work, body, now)
        if text is not None:
            self.counts._add(work, read_clock() - started)
        self.pool.append(work)
        return text

    def take_kept(self):
        """Returns [(request, number of the imp or None, publisher, moment, ids or None, is logged)]
        since the last time: one answer of `sample_every` with its ids, and the visits of one user
        in `log_one_in`."""
        kept, self.kept = self.kept, []
        return kept

    @property
    def has_kept(self):
        return len(self.kept) > 0

    cdef object _answer(
        self, StateAnswers answers, Pass caller, Bucket bucket, Workplace work, bytes body,
        double now
    ):
        """Reads, meters and answers a request; returns the text, or None."""
        cdef double visits = 1
        if not read_tape(&work.tape, PyBytes_AS_STRING(body), PyBytes_GET_SIZE(body)) or (
            not read_asked(&work.tape, 0, &work.asked)
        ):
            return None
        if work.asked.bid_request != NOTHING:
            visits = count_visits(&work.tape, 0)
            if bucket._lacking(visits) > 0:
                return None
        answers._write_heading(&work.text, now)
        work.text.push_back(b",")
        if not answers._answer(work, 0, caller.publishers, now):
            return None
        if bucket._take(visits) > 0:    # again: a match may have let others in
            return None
        work.text.push_back(b"}")
        self.number = work.number
        caller.used_at_seconds = now
        for each in work.kept:
            self.kept.append((body, *each[1:]))
        return PyBytes_FromStringAndSize(work.text.data(), work.text.size())

    def open_batch(
        self, StateAnswers answers not None, Pass caller not None, bytes body not None,
        uint64_t sample_every=0, uint64_t log_one_in=0, *, uint32_t most, uint32_t most_bytes,
        double seconds=3600,
    ):
        """Opens the requests of a body, and reads for so long: `read_on` reads the rest. Returns
        None where the general way has to decide. A batch has up to `most` requests, each of up to
        `most_bytes`."""
        cdef Batch batch = Batch.__new__(Batch)
        cdef Text name
        batch.started, batch.now = read_clock(), read_wall_clock()
        batch.answers, batch.publishers, batch.body = answers, caller.publishers, body
        batch.most, batch.most_bytes = most, most_bytes
        batch.work = Workplace.__new__(Workplace)
        batch.work._begin(self.number, sample_every, log_one_in)
        if not begin_elements(
            &batch.work.tape, &batch.cursor, PyBytes_AS_STRING(body), PyBytes_GET_SIZE(body)
        ):
            return None
        name = text_of(&batch.work.tape, &batch.work.tape.tokens[1])
        if name.bytes[:name.length] != b"requests":
            return None
        batch.place = 3
        answers._write_heading(&batch.work.text, batch.now)
        batch.work.text.append(b',"answers":[')
        batch.heading_size = batch.work.text.size()
        return batch if batch._read(seconds) else None

    def close_batch(self, Batch batch not None, Pass caller not None):
        """Returns the text of all answers; counts and keeps what the batch left."""
        batch.work.text.append(b"]}")
        self.number += batch.work.match_seconds.size()
        caller.used_at_seconds = batch.now
        self.kept += batch.work.kept
        self.counts._add(batch.work, read_clock() - batch.started)
        return PyBytes_FromStringAndSize(batch.work.text.data(), batch.work.text.size())


cdef class Batch:
    def read_on(self, double seconds):
        """Reads for so long, or all; False, with nothing done, if the general way has to decide."""
        return self._read(seconds)

    cdef bint _read(self, double seconds) except -1:
        cdef double until = read_clock() + seconds
        cdef Tape* tape = &self.work.tape
        cdef uint32_t place
        cdef Elements found
        while not self.is_read:
            place = <uint32_t>tape.tokens.size()
            found = read_element(tape, &self.cursor, self.most_bytes)
            self.count += 1
            if found == BROKEN or self.count > self.most or tape.tokens[place].kind != OBJECT:
                return False
            self.asked_visits += count_visits(tape, place)
            self.is_read = found == OVER
            if read_clock() >= until:
                break
        self.left = self.count
        return True

    @property
    def visits(self):
        """Counts the visits that were answered so far."""
        return self._count_visits()

    @property
    def size(self):
        """Measures the bytes of the answers so far."""
        return self._measure()

    def go_on(self, double seconds, uint64_t visits=NOTHING, uint64_t size=NOTHING):
        """Answers for so long, or all that are left, or until these are more than so many visits or
        bytes. A request that the general way has to answer is given back, and `add` takes its
        answer; else None."""
        cdef double until = read_clock() + seconds
        while self.left and self._count_visits() <= visits and self._measure() <= size:
            given_back = self._next()
            if given_back is not None:
                return given_back
            if read_clock() >= until:
                return None
        return None

    def add(self, bytes answer not None, uint64_t visits):
        """Adds an answer from elsewhere, a JSON object about so many visits."""
        self._begin_next()
        self.work.text.append(PyBytes_AS_STRING(answer), PyBytes_GET_SIZE(answer))
        self.further_visits += visits

    cdef uint64_t _count_visits(self) noexcept:
        return self.work.match_seconds.size() + self.further_visits

    cdef uint64_t _measure(self) noexcept:
        cdef uint32_t answered = self.count - self.left
        return self.work.text.size() - self.heading_size - (answered - 1 if answered else 0)

    cdef bytes _next(self):
        """Answers the next request; returns None, or the request if it is given back."""
        cdef Workplace work = self.work
        cdef uint32_t place = self.place
        cdef const Token* token = &work.tape.tokens[place]
        cdef size_t before = work.text.size(), kept = len(work.kept)
        if token.end - token.at > self.most_bytes or not read_asked(
            &work.tape, place, &work.asked
        ):
            return self._copy(place)
        self._begin_next()
        work.text.push_back(b"{")
        if not self.answers._answer(work, place, self.publishers, self.now):
            work.text.resize(before)
            self.left += 1
            self.place = place
            return self._copy(place)
        work.text.push_back(b"}")
        if len(work.kept) > kept:
            request = self._copy(place)
            work.kept[kept:] = [(request, *each[1:]) for each in work.kept[kept:]]
        return None

    cdef int _begin_next(self) except -1:
        if self.left < self.count:
            self.work.text.push_back(b",")
        self.left -= 1
        self.place = self.work.tape.tokens[self.place].next
        return 0

    cdef bytes _copy(self, uint32_t place):
        cdef const Token* token = &self.work.tape.tokens[place]
        return self.body[token.at:token.end]


cdef double read_wall_clock() noexcept nogil:
    cdef timespec now
    clock_gettime(CLOCK_REALTIME, &now)
    return now.tv_sec + now.tv_nsec * 1e-9
