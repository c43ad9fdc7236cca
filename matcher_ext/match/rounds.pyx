"""Runs rounds in three steps (rounds.pxd): look the tests up, answer what has no bit, go on."""
from libc.stdint cimport uint32_t

from matcher_ext.machine.bitmaps cimport set_bit
from matcher_ext.machine.links cimport NOTHING
from matcher_ext.match.lanes cimport Lanes
from matcher_ext.match.scratch cimport Scratch
from matcher_ext.match.slots cimport ask, fetch_asked, run_narrow, run_program
from matcher_ext.plan.plan cimport Plan
from matcher_ext.plan.record_format cimport (
    RECORD_MANY, RECORD_ONE, entries_at, narrow_atom, program_of, target_bit,
)
from matcher_ext.values.catalog cimport CatalogTable

cdef enum:
    FEW = 8             # lanes that are run one after another sooner

cdef extern from * nogil:
    """
    // Where a program goes on after a narrow test (record_format.pxd).
    static inline uint32_t next_test(uint32_t at, uint32_t word, uint32_t held) {
        uint32_t truth = held >> (word & 31) & 1;
        return at + (truth == word >> SENSE_SHIFT ? word >> ATOM_BITS & JUMP_MAX : 1);
    }

    // Moves what is undecided to the front; returns how many records are true.
    static size_t step_one_by_one(Lanes* lanes) {
        size_t left = 0, passed = 0;
        for (size_t i = 0; i < lanes->count; i++) {
            uint32_t end = lanes->end[i], record = lanes->record[i];
            uint32_t at = next_test(lanes->at[i], lanes->word[i], lanes->held[i]);
            lanes->at[left] = at;
            lanes->end[left] = end;
            lanes->record[left] = record;
            left += at < end;
            lanes->passed[passed] = record;
            passed += at == end;
        }
        lanes->count = left;
        return passed;
    }

    #if defined(__x86_64__) && defined(__GNUC__)
    #include <immintrin.h>
    #define EIGHT __attribute__((target("avx2,popcnt"))) static inline
    // By the bits of a byte: where they are, one after another.
    static const struct Places {
        alignas(8) uint8_t of[256][8] = {};
        Places() {
            for (int bits = 0; bits < 256; bits++)
                for (int k = 0, n = 0; k < 8; k++)
                    if (bits >> k & 1) of[bits][n++] = (uint8_t)k;
        }
    } places;
    EIGHT __m256i load(const uint32_t* from) { return _mm256_loadu_si256((const __m256i*)from); }
    EIGHT uint32_t mask_of(__m256i truths) {
        return (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(truths));
    }
    EIGHT __m256i gather(uint32_t mask) {
        return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i*)places.of[mask]));
    }
    EIGHT void store(uint32_t* to, __m256i values, __m256i order) {
        _mm256_storeu_si256((__m256i*)to, _mm256_permutevar8x32_epi32(values, order));
    }
    __attribute__((target("avx2,popcnt")))
    static size_t step_by_eights(Lanes* lanes) {
        const __m256i numbers = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
        const __m256i one = _mm256_set1_epi32(1);
        size_t left = 0, passed = 0;
        for (size_t i = 0; i < lanes->count; i += 8) {
            __m256i end = load(lanes->end + i), record = load(lanes->record + i);
            __m256i word = load(lanes->word + i);
            __m256i shift = _mm256_and_si256(word, _mm256_set1_epi32(31));
            __m256i truth = _mm256_and_si256(_mm256_srlv_epi32(load(lanes->held + i), shift), one);
            __m256i jumps = _mm256_cmpeq_epi32(truth, _mm256_srli_epi32(word, (int)SENSE_SHIFT));
            __m256i jump = _mm256_and_si256(
                _mm256_srli_epi32(word, (int)ATOM_BITS), _mm256_set1_epi32((int)JUMP_MAX));
            __m256i at = _mm256_add_epi32(
                load(lanes->at + i), _mm256_blendv_epi8(one, jump, jumps));
            // What is behind the last lane is of no meaning.
            uint32_t is_lane = mask_of(
                _mm256_cmpgt_epi32(_mm256_set1_epi32((int)(lanes->count - i)), numbers));
            __m256i rest = _mm256_sub_epi32(end, at);
            uint32_t goes_on = is_lane & mask_of(_mm256_cmpgt_epi32(rest, _mm256_setzero_si256()));
            uint32_t passes = is_lane & mask_of(_mm256_cmpeq_epi32(end, at));
            __m256i order = gather(goes_on);
            store(lanes->at + left, at, order);
            store(lanes->end + left, end, order);
            store(lanes->record + left, record, order);
            left += (size_t)__builtin_popcount(goes_on);
            store(lanes->passed + passed, record, gather(passes));
            passed += (size_t)__builtin_popcount(passes);
        }
        lanes->count = left;
        return passed;
    }
    static bool has_eights = __builtin_cpu_supports("avx2");
    static inline size_t step(Lanes* lanes) {
        return has_eights ? step_by_eights(lanes) : step_one_by_one(lanes);
    }
    static bool use_eights(bool wanted) {
        has_eights = wanted && __builtin_cpu_supports("avx2");
        return has_eights == wanted;
    }
    #else
    static inline size_t step(Lanes* lanes) { return step_one_by_one(lanes); }
    static bool use_eights(bool wanted) { return !wanted; }
    #endif
    """
    size_t step(Lanes* lanes)
    bint use_eights(bint wanted)


def step_by_eights(bint wanted):
    """Chooses how to step, for tests, which go both ways; says whether this machine can."""
    return use_eights(wanted)


cdef void pass_record(Scratch* scratch, const uint32_t* record) noexcept nogil:
    cdef uint32_t header = program_of(record)[0]
    cdef const uint32_t* entries = entries_at(record)
    cdef uint32_t i
    if target_bit(record) != NOTHING:
        set_bit(scratch.bits.data(), target_bit(record))
    if header & RECORD_ONE:
        scratch.matched.push_back(entries[0])
    elif header & RECORD_MANY:
        for i in range(entries[1]):
            scratch.matched.push_back(entries[0] + i)


cdef void run_record(
    const Plan* plan, const CatalogTable* table, Scratch* scratch, const uint32_t* record
) noexcept nogil:
    if run_program(plan, table, scratch, program_of(record)):
        pass_record(scratch, record)


cdef size_t look_up(const Plan* plan, Scratch* scratch) noexcept nogil:
    """Looks up the tests of all lanes; lists those whose atom has no bit in `passed`, which is
    free."""
    cdef Lanes* lanes = &scratch.lanes
    cdef const uint32_t* bits = <const uint32_t*>scratch.bits.data()
    cdef uint32_t filled = plan.totals.filled
    cdef size_t asked = 0, i
    cdef uint32_t word, atom
    for i in range(lanes.count):
        word = plan.records[lanes.at[i]]
        atom = narrow_atom(word)
        lanes.word[i] = word
        lanes.held[i] = bits[min(atom, filled) >> 5]
        lanes.passed[asked] = <uint32_t>i
        asked += atom >= filled
    return asked


cdef void answer(
    const Plan* plan, const CatalogTable* table, Scratch* scratch, size_t asked
) noexcept nogil:
    """Answers the lanes that look_up listed, as if they had bits."""
    cdef Lanes* lanes = &scratch.lanes
    cdef uint32_t lane
    cdef size_t i
    for i in range(asked):
        fetch_asked(plan, scratch, narrow_atom(lanes.word[lanes.passed[i]]))
    for i in range(asked):
        lane = lanes.passed[i]
        lanes.held[lane] = -<uint32_t>ask(plan, table, scratch, narrow_atom(lanes.word[lane]))


cdef void run_rounds(
    const Plan* plan, const CatalogTable* table, Scratch* scratch, size_t left
) noexcept nogil:
    cdef Lanes* lanes = &scratch.lanes
    cdef size_t asked, passed, i
    while lanes.count > max(left, <size_t>FEW):
        asked = look_up(plan, scratch)
        answer(plan, table, scratch, asked)
        passed = step(lanes)
        for i in range(passed):
            pass_record(scratch, plan.records + lanes.passed[i])
    if left == 0:
        run_few(plan, table, scratch)


cdef void run_few(const Plan* plan, const CatalogTable* table, Scratch* scratch) noexcept nogil:
    """Runs the rest of each program, one after another."""
    cdef Lanes* lanes = &scratch.lanes
    cdef size_t i
    for i in range(lanes.count):
        if run_narrow(
            plan, table, scratch, plan.records + lanes.at[i], lanes.end[i] - lanes.at[i]
        ):
            pass_record(scratch, plan.records + lanes.record[i])
    lanes.count = 0
