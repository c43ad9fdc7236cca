"""From requests on a tape to the parts of their answers (state_answers.pxd).

Compiled because it is what an ad server's request waits for: between system calls a processor runs
code that it has not just run several times slower, and a step in Python is a lot of code.
"""
import numpy

from cpython.unicode cimport PyUnicode_AsUTF8AndSize, PyUnicode_DecodeUTF8
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libcpp.algorithm cimport sort
from libcpp.string cimport string
from posix.time cimport CLOCK_MONOTONIC, clock_gettime, timespec

from matcher_ext.machine.links cimport NOTHING
from matcher_ext.requests.bid_requests cimport read_bid_request, read_impression
from matcher_ext.requests.json_tape cimport Text, text_of
from matcher_ext.requests.json_visits cimport read_json_visit, stamp_visit
from matcher_ext.serving.answer_texts cimport choose_among, write_items
from matcher_ext.serving.choosing cimport choose_visit
from matcher_ext.serving.json_text cimport add_bytes, add_tenths, add_text, add_whole
from matcher_ext.visits.visit cimport clear_visit


cdef class Workplace:
    cdef void _begin(self, uint64_t number, uint64_t sample_every, uint64_t log_one_in):
        self.text.clear()
        self.match_seconds.clear()
        self.matches = self.has_unknown = 0
        if self.malformed is None or self.malformed:
            self.malformed = []
        if self.kept is None or self.kept:
            self.kept = []
        self.number, self.sample_every, self.log_one_in = number, sample_every, log_one_in

    cdef Mark _mark(self) except *:
        return Mark(
            self.text.size(), self.match_seconds.size(), self.matches, self.has_unknown,
            self.number, len(self.malformed), len(self.kept),
        )

    cdef int _go_back(self, Mark mark) except -1:
        self.text.resize(mark.text)
        self.match_seconds.resize(mark.visits)
        self.matches, self.has_unknown, self.number = mark.matches, mark.has_unknown, mark.number
        del self.malformed[mark.malformed:]
        del self.kept[mark.kept:]
        return 0


cdef class StateAnswers:
    def __init__(
        self, Snapshot snapshot not None, Items below not None, Items beside, Overlay overlay, *,
        bytes heading not None, double read_at_seconds, Stamps stamps not None, notes,
        BidReader bids not None,
    ):
        if snapshot.plan.totals.entries != below.table.by_entry.size():
            raise ValueError("the texts are not those of the snapshot's entries")
        self.snapshot, self.below, self.beside, self.overlay = snapshot, below, beside, overlay
        self.heading, self.read_at_seconds = heading, read_at_seconds
        self.stamps, self.bids = stamps, bids
        self.notes, self.note_count = b",".join(notes), len(notes)

    cdef int _write_heading(self, string* text, double now) except -1:
        add_bytes(text, self.heading)
        add_tenths(text, <uint64_t>(max(now - self.read_at_seconds, 0.0) * 10 + 0.5))
        return 0

    cdef bint _answer(
        self, Workplace work, uint32_t place, object publishers, double now
    ) except -1:
        cdef Mark before = work._mark()
        cdef int64_t moment = <int64_t>(now * 1000)
        cdef bint is_answered
        cdef str publisher = choose_publisher(work, publishers)
        if publisher is None:
            return False
        if work.asked.visit != NOTHING:
            is_answered = self._answer_visit(work, publisher, moment)
        else:
            is_answered = self._answer_imps(work, publisher, moment)
        if not is_answered:
            work._go_back(before)
        return is_answered

    cdef bint _answer_visit(self, Workplace work, str publisher, int64_t moment) except -1:
        cdef ScratchHolder holder = self.snapshot._take()
        clear_visit(&self.snapshot.catalog.table, &holder.scratch.visit)
        cdef bint is_read = read_json_visit(
            &self.snapshot.catalog.table, self.stamps, &work.tape, work.asked.visit, &work.reading,
            &holder.scratch.visit,
        )
        if is_read:
            self._match(work, holder, publisher, moment, None)
        self.snapshot.pool.append(holder)
        return is_read

    cdef bint _answer_imps(self, Workplace work, str publisher, int64_t moment) except -1:
        """Answers all impressions, one behind the other."""
        cdef ScratchHolder holder
        cdef uint32_t imp
        if not read_bid_request(self.bids, &work.tape, work.asked.bid_request, &work.bids):
            return False
        work.reading.unknown.clear()
        work.text.append(b'"imps":[', 8)
        for imp in range(work.bids.imps.size()):
            holder = self.snapshot._take()
            clear_visit(&self.snapshot.catalog.table, &holder.scratch.visit)
            if not read_impression(
                self.bids, &work.tape, imp, &work.bids, &holder.scratch.visit, moment
            ):
                self.snapshot.pool.append(holder)
                return False
            work.text.append(b'{"imp_id":' if imp == 0 else b',{"imp_id":')
            add_text(&work.text, work.bids.imp_id.data(), work.bids.imp_id.size())
            work.text.push_back(b",")
            self._match(work, holder, publisher, moment, imp)
            work.text.push_back(b"}")
            self.snapshot.pool.append(holder)
        work.text.push_back(b"]")
        return True

    cdef int _match(
        self, Workplace work, ScratchHolder holder, str publisher, int64_t moment, object imp
    ) except -1:
        cdef ScratchHolder beside = None
        cdef double started = read_clock()
        cdef bint is_sampled, is_logged
        cdef object ids = None
        cdef Py_ssize_t length = 0
        cdef const char* place = PyUnicode_AsUTF8AndSize(publisher, &length)
        stamp_visit(
            &self.snapshot.catalog.table, self.stamps, &holder.scratch.visit, Text(place, length),
            moment,
        )
        self.snapshot._match_read(holder, self.overlay, None, True)
        if self.beside is not None:
            beside = self.beside.snapshot._match_beside(self.overlay, holder)
        work.number += 1
        is_sampled = work.sample_every and work.number % work.sample_every == 0
        is_logged = work.log_one_in and choose_visit(
            &self.snapshot.catalog.table, &holder.scratch.visit, moment, work.number,
            work.log_one_in,
        )
        if is_sampled or is_logged:
            if is_sampled:
                ids = self.snapshot._copy_matched(holder)
                if beside is not None:
                    ids = numpy.concatenate([ids, self.beside.snapshot._copy_matched(beside)])
            work.kept.append((None, imp, publisher, moment, ids, bool(is_logged)))
        self._write_part(work, holder, beside)
        if beside is not None:
            self.beside.snapshot.pool.append(beside)
        work.match_seconds.push_back(read_clock() - started)
        return 0

    cdef int _write_part(
        self, Workplace work, ScratchHolder holder, ScratchHolder beside
    ) except -1:
        cdef size_t count, written
        count = choose_among(
            &work.choice, self.snapshot, holder, self.below, beside, self.beside,
            &work.asked.wanted,
        )
        written = count
        if work.asked.wanted.limit >= 0:
            written = min(count, <size_t>work.asked.wanted.limit)
        work.text.append(b'"eligible":[', 12)
        write_items(
            &work.text, &work.choice, written, &self.snapshot.plan.routes, &holder.scratch,
            work.asked.wanted.has_paths,
        )
        work.text.append(b'],"count":', 10)
        add_whole(&work.text, count)
        work.text.append(b',"warnings":[', 13)
        self._write_warnings(work, holder)
        work.text.push_back(b"]")
        work.matches += count
        return 0

    cdef int _write_warnings(self, Workplace work, ScratchHolder holder) except -1:
        """Writes warnings with names only, because values may be personal; what every answer says
        comes first."""
        cdef uint32_t left = MOST_WARNINGS - min(self.note_count, <uint32_t>MOST_WARNINGS)
        cdef size_t i
        add_bytes(&work.text, self.notes)
        if holder.scratch.visit.malformed.size():
            malformed = sorted([
                self.snapshot.catalog.names[attribute]
                for attribute in holder.scratch.visit.malformed
            ])
            work.malformed += malformed
            for name in malformed:
                warn(&work.text, &left, b"malformed_attribute", <string>name.encode())
        if work.reading.unknown.size():
            work.has_unknown += 1
            sort(work.reading.unknown.begin(), work.reading.unknown.end())
            for i in range(work.reading.unknown.size()):
                if not i or work.reading.unknown[i] != work.reading.unknown[i - 1]:
                    warn(&work.text, &left, b"unknown_attribute", work.reading.unknown[i])
        if work.asked.visit == NOTHING:
            for i in range(work.bids.notes.size()):
                warn(&work.text, &left, work.bids.notes[i].code, work.bids.notes[i].attribute)
        return 0


cdef str choose_publisher(Workplace work, object publishers):
    """Chooses the publisher that the request names, or the only one; None if there is none to
    choose."""
    cdef Text text
    if work.asked.publisher == NOTHING:
        if len(publishers) != 1:
            return None
        only, = publishers
        return only
    text = text_of(&work.tape, &work.tape.tokens[work.asked.publisher])
    named = PyUnicode_DecodeUTF8(text.bytes, text.length, NULL)
    return named if named in publishers else None


cdef int warn(
    string* text, uint32_t* left, const char* code, const string& attribute
) except -1:
    if not left[0]:
        return 0
    left[0] -= 1
    if text.back() == b"}":
        text.push_back(b",")
    text.append(b'{"code":"')
    text.append(code)
    text.append(b'","attribute":')
    add_text(text, attribute.data(), attribute.size())
    text.push_back(b"}")
    return 0


cdef double read_clock() noexcept nogil:
    cdef timespec now
    clock_gettime(CLOCK_MONOTONIC, &now)
    return now.tv_sec + now.tv_nsec * 1e-9
