"""The numbers that C++ and Python share. Made by core/numbers.py: not to be changed by hand."""

from enum import IntEnum


class Kind(IntEnum):
    """As core/event.hpp has them."""

    LD = 0
    ST = 1
    RMW = 2
    MFENCE = 3
    SFENCE = 4
    LOCK = 5
    UNLOCK = 6
    FENCE = 7


class Order(IntEnum):
    """As core/event.hpp has them."""

    NA = 0
    RELAXED = 1
    ACQUIRE = 2
    RELEASE = 3
    ACQ_REL = 4
    SEQ_CST = 5


class Op(IntEnum):
    """As core/program.hpp has them."""

    CONSTANT = 0
    REG = 1
    OLD = 2
    ADD = 3
    SUB = 4
    MUL = 5
    BIT_AND = 6
    BIT_OR = 7
    BIT_XOR = 8
    EQ = 9
    NE = 10
    LT = 11
    LE = 12
    GT = 13
    GE = 14
    LOGICAL_AND = 15
    LOGICAL_OR = 16
    LOGICAL_NOT = 17
    BIT_NOT = 18
    SHL = 19
    SHR = 20
    DIV = 21
    MOD = 22


class Opcode(IntEnum):
    """As core/program.hpp has them."""

    LOAD = 0
    STORE = 1
    RMW = 2
    MFENCE = 3
    SFENCE = 4
    LOCK = 5
    UNLOCK = 6
    ASSIGN = 7
    BRANCH = 8
    ASSERTION = 9
    ASSUME = 10
    FENCE = 11


class TraceFault(IntEnum):
    """As core/tracecheck.hpp has them."""

    NONE = 0
    KIND = 1
    THREAD = 2
    ADDRESS_MISSING = 3
    ADDRESS_UNKNOWN = 4
    ADDRESS_OF_FENCE = 5
    LOCATION = 6
    MUST_WRITE = 7
    CANNOT_WRITE = 8
    LOCKED = 9
    NOT_LOCKED = 10
    LOCKED_BY_OTHER = 11
    VALUE = 12


class Before(IntEnum):
    """As core/histories/chains.hpp has them."""

    PROGRAM = 0
    READS_FROM = 1
    STORE = 2
    OVERWRITES = 3
    INITIAL = 4
    LOCATION = 5
    FINAL = 6
    ASSUMED = 7


class Tag(IntEnum):
    """As runtime/memory/cells.hpp has them."""

    BYTE = 0
    HALF = 1
    WORD = 2
    OCT = 3
    VECTOR = 4
    MUTEX = 8
    CONDITION = 9
    SEMAPHORE = 10
    BARRIER = 11
    THREAD = 12
    RWLOCK = 13
    FUTEX = 14


class Verb(IntEnum):
    """As runtime/schedule/operation.hpp has them."""

    NONE = 0
    CREATE = 1
    BEGIN = 2
    END = 3
    JOIN = 4
    LOCK = 5
    UNLOCK = 6
    TRY_LOCK = 7
    READ_LOCK = 8
    TRY_READ_LOCK = 9
    WRITE_LOCK = 10
    TRY_WRITE_LOCK = 11
    WAIT = 12
    WAKE = 13
    WAKE_IDLY = 14
    WAKE_OR_NOT = 15
    GIVE_UP = 16
    SIGNAL = 17
    BROADCAST = 18
    ARRIVE = 19
    LEAVE = 20
    TAKE = 21
    TRY_TAKE = 22
    POST = 23
    LOOK = 24
    ENTER_ONCE = 25
    LEAVE_ONCE = 26
    ENTER_SECTION = 27
    LEAVE_SECTION = 28
    ENTER_FUTEX = 29
    LEAVE_FUTEX = 30
    FREE = 31
    INITIALISE = 32
    DESTROY = 33
    END_LIFE = 34
    DETACH = 35
