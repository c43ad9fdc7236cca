"""Binds functions to slots, and calls each at most once per visit (answers.pxd)."""
import numpy

from libc.stdint cimport uint8_t, uint32_t

from matcher_ext.index.snapshot cimport ScratchHolder, Snapshot, make_snapshot
from matcher_ext.machine.links cimport NOTHING
from matcher_ext.match.matching cimport begin_match, run_match
from matcher_ext.match.scratch cimport Answerer
from matcher_ext.match.slots cimport Match, answer_definition, ask_definition
from matcher_ext.plan.plan cimport SLOTS, section_count
from matcher_ext.values.predicate cimport FALSE, TRUE, UNDEFINED, Truth
from matcher_ext.visits.dict_reader cimport read_visit

from matcher_ext.values.refusals import UnknownDefinitionError

cdef enum:
    MOST_CONTEXTS = 256     # of one visit: their addresses must not change


cdef class SlotAnswers:
    def __init__(self, names, function, asks=()):
        if not callable(function):
            raise TypeError("a function must answer")
        self.names = tuple(names)
        self.asks = tuple(asks)
        self.function = function
        if len(set(self.names)) != len(self.names):
            raise ValueError("a name is given twice")


def bind_answers(Snapshot below, SlotAnswers answers):
    """Makes the same snapshot, with definitions that code answers; names it lacks do not matter."""
    cdef Snapshot made = make_snapshot()
    cdef uint32_t slot, definition
    cdef int negated
    if set(answers.names) & {name for other in below.answers for name in other.names}:
        raise ValueError("a definition has an answer already")
    if 2 * (len(below.answers) + 1) > MOST_CONTEXTS:
        raise ValueError("too many functions answer")
    with below.lock:
        made.plan = below.plan
        made.is_thawed = below.is_thawed
    made.mapping = below        # keeps the memory
    made.catalog = below.catalog
    made.answers = (*below.answers, answers)
    made.definition_numbers = {
        name: number for number, name in enumerate(below.definition_names())
    }
    made.answered_by = below.answered_by
    made.answered_by.resize(section_count(&made.plan, SLOTS) + 1, 0)
    for name in answers.names:
        if name in made.definition_numbers:
            definition = made.definition_numbers[name]
            for negated in range(2):
                slot = made.plan.definition_slots[2 * definition + negated]
                if slot != NOTHING:
                    made.answered_by[slot] = <uint32_t>len(made.answers)
    return made


cdef Truth truth_of(object answer) except? UNDEFINED:
    if answer is None:
        return UNDEFINED
    if answer is True or answer is False:
        return TRUE if answer else FALSE
    raise TypeError(f"an answer is True, False or None, not {answer!r}")


cdef void answer_in_python(void* context, void* match) noexcept nogil:
    """Calls a function; what it raises is kept, and raised again when the visit is done."""
    cdef AnswerContext* asked = <AnswerContext*>context
    with gil:
        answers = <VisitAnswers>asked.answers
        try:
            answers._answer(asked.place, <Match*>match, <Snapshot>asked.snapshot)
        except BaseException as error:
            answers.error = error


def match_beside(match, overlay, Snapshot beside, visit):
    """Returns what a snapshot below finds, by `match_ids` or `match_with_warnings`, with the ids of
    the one beside it; the second part is what the former warns of."""
    answers = VisitAnswers.begin(beside, visit) if beside.answers else None
    found = match(visit, overlay, answers)
    ids, malformed = found if isinstance(found, tuple) else (found, ())
    if answers is not None:
        return numpy.concatenate([ids, answers.match_ids()]), malformed
    if len(beside):
        ids = numpy.concatenate([ids, beside.match_ids(visit)])
    return ids, malformed


def answer_visit(Snapshot snapshot, visit):
    """Returns the truths of all definitions that code answers, by name, of one visit; none where
    the visit lacks a required attribute."""
    cdef VisitAnswers answers = VisitAnswers.begin(snapshot, visit)
    cdef uint32_t place
    truths = {}
    try:
        for place in range(<uint32_t>len(snapshot.answers) if answers.is_begun else 0):
            found = answers._ask_function(place)
            for name in (<SlotAnswers>snapshot.answers[<Py_ssize_t>place]).names:
                truth_of(found.get(name))
                truths[name] = found.get(name)
    except BaseException as error:
        answers.error = error
    answers.match_ids()     # clears the scratch; raises what was kept
    return truths


cdef class VisitAnswers:
    def __cinit__(self, *, keeps=True):
        self.keeps = keeps
        self.kept = {}
        self.running = set()
        self.contexts.reserve(<int>MOST_CONTEXTS)

    @staticmethod
    def begin(Snapshot beside, visit):
        """Begins the match of a snapshot that answers together with another."""
        cdef VisitAnswers answers = VisitAnswers()
        cdef ScratchHolder holder = beside._take()
        read_visit(beside.catalog, visit, &holder.scratch.visit)
        answers.lend(holder, beside)
        with nogil:
            answers.is_begun = begin_match(
                &beside.plan, &beside.catalog.table, &holder.scratch
            )
        return answers

    def match_ids(self):
        """Ends the match that was begun."""
        cdef Snapshot beside = self.snapshot
        cdef ScratchHolder holder = self.holder
        if self.is_begun:
            with nogil:
                run_match(&beside.plan, &beside.catalog.table, &holder.scratch)
        self.settle(holder)
        matched = beside._copy_matched(holder)
        beside.pool.append(holder)
        return matched

    def ask(self, str name):
        """Says whether a definition is true of the visit."""
        cdef uint32_t definition
        if self.holder is None:
            raise ValueError("the visit is over")
        if name not in self.snapshot.definition_numbers:
            raise UnknownDefinitionError(f"@{name} has no definition")
        definition = self.snapshot.definition_numbers[name]
        return bool(ask_definition(&self.match, definition))

    def lend(self, ScratchHolder holder, Snapshot snapshot):
        """Lets a match call the functions; the first one's is what they ask through."""
        cdef AnswerContext context
        cdef Answerer answerer
        cdef uint32_t place
        if self.snapshot is None:
            self.snapshot = snapshot
            self.holder = holder
            self.match = Match(&snapshot.plan, &snapshot.catalog.table, &holder.scratch)
        holder.scratch.answerers.clear()
        for place in range(<uint32_t>len(snapshot.answers)):
            context.answers = <void*>self
            context.snapshot = <void*>snapshot
            context.place = place
            self.contexts.push_back(context)
            answerer.answer = answer_in_python
            answerer.context = &self.contexts.back()
            answerer.was_asked = False
            holder.scratch.answerers.push_back(answerer)
        holder.scratch.answered_by = snapshot.answered_by.data()

    cdef dict _ask_function(self, uint32_t place):
        cdef SlotAnswers answers = self.snapshot.answers[<Py_ssize_t>place]
        if self.error is not None or place in self.running:
            return {}
        if self.keeps and place in self.kept:
            return self.kept[place]
        self.running.add(place)
        try:
            self.kept[place] = dict(answers.function(self.ask))
        finally:
            self.running.discard(place)
        return self.kept[place]

    cdef int _answer(self, uint32_t place, const Match* match, Snapshot snapshot) except -1:
        cdef uint32_t definition
        truths = self._ask_function(place)
        for name in (<SlotAnswers>snapshot.answers[<Py_ssize_t>place]).names:
            if name in snapshot.definition_numbers:
                definition = snapshot.definition_numbers[name]
                answer_definition(match, definition, truth_of(truths.get(name)))
        return 0

    def settle(self, ScratchHolder holder):
        """Takes the functions back after the match: the scratch may go to somebody else."""
        holder.scratch.answerers.clear()
        holder.scratch.answered_by = NULL
        if holder is self.holder:
            self.holder = None
        if self.error is not None:
            raise self.error

    def tell_graph(self, ScratchHolder holder, Snapshot snapshot):
        """Tells a snapshot's graph what the functions say."""
        cdef uint32_t place, definition
        holder.graph.answers.assign(len(snapshot.definition_numbers), 0)
        for place in range(<uint32_t>len(snapshot.answers)):
            truths = self._ask_function(place)
            for name in (<SlotAnswers>snapshot.answers[<Py_ssize_t>place]).names:
                if name in snapshot.definition_numbers:
                    definition = snapshot.definition_numbers[name]
                    holder.graph.answers[definition] = <uint8_t>(
                        1 + <int>truth_of(truths.get(name))
                    )
