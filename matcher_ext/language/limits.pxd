"""The limits on texts. MAX_TEXT, MAX_PREDICATES and MAX_VALUES bind only what people write."""

cdef enum Limit:
    MAX_TEXT = 65536            # bytes
    MAX_LEVELS = 100            # of nesting
    MAX_PREDICATES = 5000
    MAX_VALUES = 10000          # of inline lists
    MAX_LIST = 1000000          # values of a managed list
    MAX_PROBLEMS = 50           # reported at once
    MAX_COMPOSED = 67108864     # bytes of a text that the platform composed
