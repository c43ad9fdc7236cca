"""From requests on a tape to the parts of their answers, out of one state of the exchange.

    {"snapshot_id": .., "snapshot_age_seconds": ..,                       heading
     "eligible": [..], "count": .., "warnings": [..]}                     part: one per visit

A request is read, matched, chosen from and written without an object in between; what is out of the
ordinary is given back, with nothing written.
"""
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libcpp.string cimport string
from libcpp.vector cimport vector

from matcher_ext.index.overlay cimport Overlay
from matcher_ext.index.snapshot cimport ScratchHolder, Snapshot
from matcher_ext.requests.bid_sources cimport BidReader, BidReading
from matcher_ext.requests.json_requests cimport Asked
from matcher_ext.requests.json_tape cimport Tape
from matcher_ext.requests.json_visits cimport Reading, Stamps
from matcher_ext.serving.answer_texts cimport Choice, Items

cdef enum:
    MOST_WARNINGS = 50              # as exchange/serving/answers.py says; a test compares them

cdef struct Mark:       # how far the work had come
    size_t text
    size_t visits
    uint64_t matches
    uint64_t has_unknown
    uint64_t number
    Py_ssize_t malformed
    Py_ssize_t kept

cdef class Workplace:
    """The memory of one request at a time, and what is to be counted and kept of it."""
    cdef Tape tape
    cdef Asked asked
    cdef Reading reading
    cdef BidReading bids
    cdef Choice choice
    cdef string text
    cdef vector[double] match_seconds   # of each visit
    cdef uint64_t matches
    cdef uint64_t has_unknown           # visits with a name that the catalogue does not have
    cdef list malformed                 # names of attributes, one for each visit that has it
    cdef list kept                      # (request, imp, publisher, moment, ids or None, is logged)
    cdef uint64_t number                # of the next visit ..
    cdef uint64_t sample_every          # .. whose answer is kept if this divides it; 0: never
    cdef uint64_t log_one_in            # users, whose visits are kept; 0: none

    cdef void _begin(self, uint64_t number, uint64_t sample_every, uint64_t log_one_in)
    cdef Mark _mark(self) except *
    # Undoes what was done since the mark.
    cdef int _go_back(self, Mark mark) except -1

cdef class StateAnswers:
    """Immutable, so any number of threads may ask it, each with a workplace of its own."""
    cdef Snapshot snapshot
    cdef Items below
    cdef Items beside                   # or None
    cdef Overlay overlay                # or None
    cdef bytes heading
    cdef double read_at_seconds
    cdef Stamps stamps
    cdef bytes notes                    # what every answer warns of, as JSON with commas
    cdef uint32_t note_count
    cdef BidReader bids

    cdef int _write_heading(self, string* text, double now) except -1
    # Writes the part of a visit, or the imps of a bid request, for one of these publishers, behind
    # work.text. False: it is given back, and the workplace as it was.
    cdef bint _answer(
        self, Workplace work, uint32_t place, object publishers, double now
    ) except -1
    cdef bint _answer_visit(self, Workplace work, str publisher, int64_t moment) except -1
    cdef bint _answer_imps(self, Workplace work, str publisher, int64_t moment) except -1
    cdef int _match(
        self, Workplace work, ScratchHolder holder, str publisher, int64_t moment, object imp
    ) except -1
    cdef int _write_part(self, Workplace work, ScratchHolder holder, ScratchHolder beside) except -1
    cdef int _write_warnings(self, Workplace work, ScratchHolder holder) except -1

cdef double read_clock() noexcept nogil
