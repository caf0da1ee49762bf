"""What external functions do to values: the fact table shared by instrumentation and interpretation.

Names are symbols as in the IR without the leading ``@``; nothing is stripped from them. ``llvm.*``
intrinsics and mangled C++ stream functions are found by prefix.

Floating-point operations: add, subtract, multiply, divide, square root, rounding, minimum and maximum count
1, sign changes through ``fabs``/``copysign`` 0, a fused multiply-add 2. Elementary functions use the weights
of normalised FLOPs that are customary since the Livermore loops: 8 for exp, log, sine and relatives, 16
where two of them are needed (pow, sincos, hyperbolics, error and gamma functions). Complex products count 6,
quotients 11. Counts are per lane.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from commanalyzer.ir import fortran_calls


class CallKind(Enum):
    """Effect of an external call on the values in memory.

    ``PURE``: the result has the sources of the scalar arguments; what ``writes`` names does, too.
    ``ALLOCATE``/``FREE``/``REALLOCATE``: heap. ``COPY``: memcpy-like. ``FILL``: memset-like.
    ``INPUT``: values from outside; what ``writes`` names gets new values without sources, so does the result.
    ``OUTPUT``: leaves the analysed program; nothing is recorded. ``IGNORE``: no effect on values.
    ``EXIT``: does not return. ``CALLBACK``: calls back into the program.
    """

    PURE = "pure"
    ALLOCATE = "allocate"
    FREE = "free"
    REALLOCATE = "reallocate"
    COPY = "copy"
    FILL = "fill"
    INPUT = "input"
    OUTPUT = "output"
    IGNORE = "ignore"
    EXIT = "exit"
    CALLBACK = "callback"


class Extent(Enum):
    """How many bytes are written through each pointer argument of ``writes``.

    ``FIXED``: ``write_bytes``. ``SIZES``: the product of the arguments ``sizes``. ``STRING``: up to and
    including the first zero byte found there after the call. ``FORMAT``: by the scanf conversions.
    """

    FIXED = "fixed"
    SIZES = "sizes"
    STRING = "string"
    FORMAT = "format"


@dataclass(frozen=True, slots=True)
class LibraryCall:
    """Effect of one external function.

    Attributes:
        kind: Kind of effect.
        flops: Floating-point operations per call and lane.
        sizes: Argument numbers whose product is the number of bytes allocated, copied, filled or written.
        pointer: Argument that is freed, reallocated, copied to or filled; for ``ALLOCATE`` the argument
            through which the new address is stored (``posix_memalign``), -1 if it is the result.
        source: Argument that is copied from.
        alignment: Argument that gives the alignment of an allocation, -1 for 16 bytes.
        zeroed: The new memory is zero.
        writes: Pointer arguments that are written through; for ``FORMAT`` the first of them.
        extent: How many bytes are written.
        write_bytes: For ``Extent.FIXED``.
    """

    kind: CallKind
    flops: int = 0
    sizes: tuple[int, ...] = ()
    pointer: int = -1
    source: int = -1
    alignment: int = -1
    zeroed: bool = False
    writes: tuple[int, ...] = ()
    extent: Extent = Extent.FIXED
    write_bytes: int = 0


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_IGNORE = LibraryCall(CallKind.IGNORE)
_OUTPUT = LibraryCall(CallKind.OUTPUT)
_INPUT = LibraryCall(CallKind.INPUT)
_EXIT = LibraryCall(CallKind.EXIT)
_FREE = LibraryCall(CallKind.FREE, pointer=0)
_COPY = LibraryCall(CallKind.COPY, sizes=(2,), pointer=0, source=1)
_FILL = LibraryCall(CallKind.FILL, sizes=(2,), pointer=0)
_MALLOC = LibraryCall(CallKind.ALLOCATE, sizes=(0,))
_ALIGNED_NEW = replace(_MALLOC, alignment=1)
_WRITES_STRING = LibraryCall(CallKind.INPUT, writes=(0,), extent=Extent.STRING)

# C names of double functions; the float and long double variants (suffix f and l) are added below.
_MATH_FLOPS: dict[str, int] = {
    "fabs": 0,
    "copysign": 0,
    **dict.fromkeys(("sqrt", "floor", "ceil", "trunc", "round", "rint", "nearbyint", "roundeven"), 1),
    **dict.fromkeys(("lrint", "llrint", "lround", "llround", "fmin", "fmax", "fdim", "fmod"), 1),
    **dict.fromkeys(("remainder", "drem", "ldexp", "scalbn", "scalbln", "logb", "ilogb"), 1),
    **dict.fromkeys(("nextafter", "nexttoward", "fminimum", "fmaximum"), 1),
    "fma": 2,
    "hypot": 4,
    **dict.fromkeys(("exp", "exp2", "exp10", "expm1", "log", "log2", "log10", "log1p", "cbrt"), 8),
    **dict.fromkeys(("sin", "cos", "tan", "asin", "acos", "atan", "atan2"), 8),
    **dict.fromkeys(("pow", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"), 16),
    **dict.fromkeys(("erf", "erfc", "tgamma", "lgamma", "j0", "j1", "jn", "y0", "y1", "yn"), 16),
}
_MATH_WIDTHS = {"": 8, "f": 4, "l": 16}


def _math() -> dict[str, LibraryCall]:
    table: dict[str, LibraryCall] = {}
    for suffix, width in _MATH_WIDTHS.items():
        for name, flops in _MATH_FLOPS.items():
            table[name + suffix] = LibraryCall(CallKind.PURE, flops)
            table[f"__{name}{suffix}_finite"] = table[name + suffix]
        two = LibraryCall(CallKind.PURE, 16, writes=(1, 2), write_bytes=width)
        table["sincos" + suffix] = two
        table["modf" + suffix] = LibraryCall(CallKind.PURE, 1, writes=(1,), write_bytes=width)
        table["frexp" + suffix] = LibraryCall(CallKind.PURE, 0, writes=(1,), write_bytes=4)
        table["remquo" + suffix] = LibraryCall(CallKind.PURE, 1, writes=(2,), write_bytes=4)
        table[f"lgamma{suffix}_r"] = LibraryCall(CallKind.PURE, 16, writes=(1,), write_bytes=4)
    return table


def _heap() -> dict[str, LibraryCall]:
    news = {f"_Zn{kind}m{nothrow}": _MALLOC for kind in "wa" for nothrow in ("", "RKSt9nothrow_t")}
    aligned = {
        f"_Zn{kind}mSt11align_val_t{nothrow}": _ALIGNED_NEW
        for kind in "wa"
        for nothrow in ("", "RKSt9nothrow_t")
    }
    ends = ("", "m", "RKSt9nothrow_t", "St11align_val_t", "mSt11align_val_t", "St11align_val_tRKSt9nothrow_t")
    deletes = {f"_Zd{kind}Pv{end}": _FREE for kind in "la" for end in ends}
    return {
        "malloc": _MALLOC,
        "valloc": _MALLOC,
        "calloc": LibraryCall(CallKind.ALLOCATE, sizes=(0, 1), zeroed=True),
        "realloc": LibraryCall(CallKind.REALLOCATE, sizes=(1,), pointer=0),
        "reallocarray": LibraryCall(CallKind.REALLOCATE, sizes=(1, 2), pointer=0),
        "aligned_alloc": LibraryCall(CallKind.ALLOCATE, sizes=(1,), alignment=0),
        "memalign": LibraryCall(CallKind.ALLOCATE, sizes=(1,), alignment=0),
        "posix_memalign": LibraryCall(CallKind.ALLOCATE, sizes=(2,), pointer=0, alignment=1),
        "free": _FREE,
        "cfree": _FREE,
        **news,
        **aligned,
        **deletes,
    }


_MEMORY: dict[str, LibraryCall] = {
    **dict.fromkeys(("memcpy", "memmove", "mempcpy", "__memcpy_chk", "__memmove_chk"), _COPY),
    "bcopy": LibraryCall(CallKind.COPY, sizes=(2,), pointer=1, source=0),
    **dict.fromkeys(("memset", "__memset_chk"), _FILL),
    "bzero": LibraryCall(CallKind.FILL, sizes=(1,), pointer=0),
    **dict.fromkeys(
        ("strcpy", "strncpy", "strcat", "strncat", "stpcpy", "strtok", "__strcpy_chk", "__strcat_chk"),
        _WRITES_STRING,
    ),
    **dict.fromkeys(("sprintf", "snprintf", "vsprintf", "vsnprintf"), _WRITES_STRING),
    **dict.fromkeys(("__sprintf_chk", "__snprintf_chk", "__vsnprintf_chk"), _WRITES_STRING),
    **dict.fromkeys(
        _names(
            "strlen strnlen strcmp strncmp strcasecmp strncasecmp memcmp bcmp strchr strrchr strstr "
            "strspn strcspn strpbrk memchr strcoll"
        ),
        _IGNORE,
    ),
}

_STDIO: dict[str, LibraryCall] = {
    **dict.fromkeys(
        _names(
            "printf fprintf vprintf vfprintf dprintf __printf_chk __fprintf_chk puts putchar fputs "
            "fputc putc _IO_putc fwrite perror write fflush"
        ),
        _OUTPUT,
    ),
    **dict.fromkeys(("fopen", "fopen64", "fdopen", "freopen", "fclose", "fseek", "fseeko", "ftell"), _IGNORE),
    **dict.fromkeys(
        ("rewind", "feof", "ferror", "clearerr", "setvbuf", "setbuf", "fileno", "remove"), _IGNORE
    ),
    **dict.fromkeys(("open", "close", "lseek", "unlink", "setlocale", "isatty", "ungetc"), _IGNORE),
    **dict.fromkeys(("getchar", "fgetc", "getc", "_IO_getc"), _INPUT),
    "fread": LibraryCall(CallKind.INPUT, sizes=(1, 2), writes=(0,), extent=Extent.SIZES),
    "read": LibraryCall(CallKind.INPUT, sizes=(2,), writes=(1,), extent=Extent.SIZES),
    "fgets": _WRITES_STRING,
    "gets": _WRITES_STRING,
    **dict.fromkeys(
        ("scanf", "__isoc99_scanf", "__isoc23_scanf"),
        LibraryCall(CallKind.INPUT, writes=(1,), extent=Extent.FORMAT),
    ),
    **dict.fromkeys(
        ("fscanf", "sscanf", "__isoc99_fscanf", "__isoc99_sscanf", "__isoc23_fscanf", "__isoc23_sscanf"),
        LibraryCall(CallKind.INPUT, writes=(2,), extent=Extent.FORMAT),
    ),
}

_STRTO = LibraryCall(CallKind.INPUT, writes=(1,), write_bytes=8)
_SYSTEM: dict[str, LibraryCall] = {
    **dict.fromkeys(("atoi", "atol", "atoll", "atof"), _INPUT),
    **dict.fromkeys(("strtol", "strtoll", "strtoul", "strtoull", "strtod", "strtof", "strtold"), _STRTO),
    **dict.fromkeys(("__isoc23_strtol", "__isoc23_strtoll", "__isoc23_strtoul", "__isoc23_strtoull"), _STRTO),
    **dict.fromkeys(("rand", "random", "drand48", "lrand48", "mrand48", "clock", "getenv", "getpid"), _INPUT),
    **dict.fromkeys(
        ("srand", "srandom", "srand48", "atexit", "setenv", "signal", "usleep", "sleep"), _IGNORE
    ),
    "rand_r": LibraryCall(CallKind.INPUT, writes=(0,), write_bytes=4),
    **dict.fromkeys(("time", "times"), LibraryCall(CallKind.INPUT, writes=(0,), write_bytes=8)),
    "gettimeofday": LibraryCall(CallKind.INPUT, writes=(0,), write_bytes=16),
    "clock_gettime": LibraryCall(CallKind.INPUT, writes=(1,), write_bytes=16),
    "getrusage": LibraryCall(CallKind.INPUT, writes=(1,), write_bytes=144),
    "nanosleep": _IGNORE,
    "difftime": LibraryCall(CallKind.PURE, 1),
    **dict.fromkeys(("abs", "labs", "llabs", "toupper", "tolower", "ffs"), LibraryCall(CallKind.PURE)),
    **dict.fromkeys(
        ("isalpha", "isdigit", "isalnum", "isspace", "isupper", "islower", "isprint", "ispunct"),
        LibraryCall(CallKind.PURE),
    ),
    **dict.fromkeys(
        ("__errno_location", "__ctype_b_loc", "__ctype_tolower_loc", "__ctype_toupper_loc"), _IGNORE
    ),
    **dict.fromkeys(("exit", "_exit", "_Exit", "quick_exit", "abort", "__assert_fail"), _EXIT),
    **dict.fromkeys(
        ("__cxa_atexit", "__cxa_guard_acquire", "__cxa_guard_release", "__cxa_guard_abort"), _IGNORE
    ),
    **dict.fromkeys(("__cxa_allocate_exception", "__cxa_free_exception", "__cxa_begin_catch"), _IGNORE),
    **dict.fromkeys(("__cxa_end_catch", "__gxx_personality_v0"), _IGNORE),
    **dict.fromkeys(("__cxa_throw", "__cxa_rethrow", "__cxa_pure_virtual", "_ZSt9terminatev"), _EXIT),
    **dict.fromkeys(("qsort", "bsearch", "qsort_r"), LibraryCall(CallKind.CALLBACK)),
}

_INTRINSIC_FLOPS: dict[str, int] = {
    **{name: flops for name, flops in _MATH_FLOPS.items() if name not in ("fmin", "fmax")},
    **dict.fromkeys(("minnum", "maxnum", "minimum", "maximum", "minimumnum", "maximumnum"), 1),
    "fmuladd": 2,
    "powi": 8,
    "sincos": 16,
    "modf": 1,
    "frexp": 0,
}
_INTEGER_INTRINSICS = _names(
    "umax umin smax smin abs ctpop ctlz cttz bswap bitreverse fshl fshr uadd sadd usub ssub "
    "umul smul ushl sshl scmp ucmp fptosi fptoui vector is expect canonicalize ssa launder "
    "strip ptrmask load objectsize"
)
_NO_EFFECT_INTRINSICS = _names(
    "lifetime dbg assume invariant experimental stacksave stackrestore prefetch va_start "
    "va_end va_copy sideeffect donothing annotation var eh pseudoprobe stackprotector "
    "readcyclecounter threadlocal frameaddress returnaddress fake"
)

# Complex arithmetic: what the compiler calls for * and /, and <complex.h>.
_COMPLEX_FLOPS = {
    **dict.fromkeys(("__muldc3", "__mulsc3", "__mulxc3"), 6),
    **dict.fromkeys(("__divdc3", "__divsc3", "__divxc3"), 11),
    **dict.fromkeys(("cabs", "cabsf", "cabsl"), 4),
    **dict.fromkeys(_names("carg cargf cargl cexp cexpf clog clogf csqrt csqrtf csin ccos"), 16),
    **dict.fromkeys(("cpow", "cpowf"), 32),
    **dict.fromkeys(("__powidf2", "__powisf2", "__powixf2"), 8),
}
_FORTRAN: dict[str, LibraryCall] = {
    **dict.fromkeys(fortran_calls.MODELLED | fortran_calls.NUMBER, _INPUT),
    **dict.fromkeys(fortran_calls.WITH_SOURCES, LibraryCall(CallKind.PURE)),
    **dict.fromkeys(fortran_calls.EFFECTLESS_HELPERS, _IGNORE),
    **dict.fromkeys(fortran_calls.EXITS, _EXIT),
    fortran_calls.COPY_SOURCES: _COPY,
    fortran_calls.FROM_OUTSIDE: LibraryCall(CallKind.INPUT, sizes=(1,), writes=(0,), extent=Extent.SIZES),
    **{
        name: LibraryCall(CallKind.INPUT, writes=(1,), write_bytes=size)
        for name, size in fortran_calls.INPUT_BYTES.items()
    },
}
_EXACT: dict[str, LibraryCall] = {
    **_math(),
    **_FORTRAN,
    **_heap(),
    **_MEMORY,
    **_STDIO,
    **_SYSTEM,
    **{name: LibraryCall(CallKind.PURE, flops) for name, flops in _COMPLEX_FLOPS.items()},
}
_INTRINSICS: dict[str, LibraryCall] = {
    **dict.fromkeys(_NO_EFFECT_INTRINSICS, _IGNORE),
    **dict.fromkeys(_INTEGER_INTRINSICS, LibraryCall(CallKind.PURE)),
    **{name: LibraryCall(CallKind.PURE, flops) for name, flops in _INTRINSIC_FLOPS.items()},
    **dict.fromkeys(("trap", "ubsantrap", "debugtrap"), _EXIT),
    **dict.fromkeys(("memcpy", "memmove"), _COPY),
    "memset": _FILL,
}
# iostreams of libstdc++ and libc++, and the locale machinery behind them.
_PREFIXES: tuple[tuple[str, LibraryCall], ...] = (
    ("_ZNSo", _OUTPUT),
    ("_ZStlsI", _OUTPUT),
    ("_ZSt16__ostream_insert", _OUTPUT),
    ("_ZSt4endlI", _OUTPUT),
    ("_ZNSt3__113basic_ostream", _OUTPUT),
    ("_ZNSt8ios_base", _IGNORE),
    ("_ZNSt3__18ios_base", _IGNORE),
    ("_ZNKSt3__18ios_base", _IGNORE),
    ("_ZNSt3__16locale", _IGNORE),
    ("_ZNKSt3__16locale", _IGNORE),
    ("_ZSt2", _EXIT),
    ("_ZSt1", _EXIT),
    *((prefix, _IGNORE) for prefix in fortran_calls.EFFECTLESS_PREFIXES),
)


# Functions that start a thread; recording is for one thread.
THREAD_STARTERS = frozenset(("pthread_create", "thrd_create", "__kmpc_fork_call", "GOMP_parallel"))


def library_call(name: str) -> LibraryCall | None:
    """Return what the external function ``name`` (no leading ``@``) does, ``None`` if it is unknown.

    ``_ZSt<nn>__throw_...`` helpers of libstdc++ count as exits.
    """
    exact = _EXACT.get(name)
    if exact is not None:
        return exact
    if name.startswith("llvm."):
        parts = name.split(".")
        if parts[1] == "vector" and len(parts) > 3 and parts[2] == "reduce" and parts[3].startswith("f"):
            return LibraryCall(CallKind.PURE, 1)
        return _INTRINSICS.get(parts[1])
    for prefix, call in _PREFIXES:
        if name.startswith(prefix) and (call.kind is not CallKind.EXIT or "__throw_" in name):
            return call
    return None
