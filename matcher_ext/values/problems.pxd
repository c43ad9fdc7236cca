"""What can be wrong with an expression; errors.py says each of them in words."""

cpdef enum ProblemCode:
    NOT_UNICODE
    TEXT_TOO_LONG
    EMPTY_TEXT
    TOO_DEEP
    TOO_MANY_PREDICATES
    TOO_MANY_VALUES
    UNEXPECTED_CHARACTER
    UNCLOSED_STRING
    BAD_ESCAPE
    BAD_NUMBER
    BAD_NAME                # `@` or `$` without a name
    EXPECTED_CONDITION
    EXPECTED_CONNECTIVE
    EMPTY_GROUP
    UNCLOSED_GROUP          # start: the opening bracket
    UNEXPECTED_CLOSING
    UNKNOWN_ATTRIBUTE
    BARE_ATTRIBUTE          # an attribute alone that is not Boolean
    EXPECTED_OPERATOR
    EXPECTED_WORD           # other: Keyword
    WRONG_OPERATOR          # other: Operator
    EXPECTED_VALUE
    EXPECTED_LIST
    EXPECTED_COMMA
    EMPTY_LIST
    UNCLOSED_LIST           # start: the opening bracket
    UNQUOTED_TEXT
    WRONG_VALUE             # a literal of another type than the attribute's
    INTEGER_TOO_LARGE
    FLOAT_NOT_FINITE
    NOT_IN_DOMAIN
    REVERSED_RANGE
    EMPTY_STRING
    BAD_TIMESTAMP
    BAD_SCHEDULE
    BAD_ADDRESS
    BAD_NETWORK
    HOST_BITS
    BAD_HOST
    BAD_DISTANCE
    BAD_POINT
    TOO_FEW_POINTS
    ANTIMERIDIAN
    BAD_COUNT
    UNKNOWN_LIST
    LIST_TOO_LONG
    WRONG_LIST              # a managed list's values do not fit; other: position of the value
    NO_UTC_OFFSET
    UNKNOWN_DEFINITION
    DEFINITION_CYCLE
