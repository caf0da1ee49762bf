import tomllib
from importlib.resources import files
from pathlib import Path

import pytest

from commanalyzer.foundation.errors import ConfigError
from commanalyzer.program.ir.libcalls import (
    ByteCount,
    CallKind,
    LibraryCall,
    MemoryRange,
    default_library,
    expand_names,
    library_with,
)

# C99 7.12: all functions of <math.h> that take or give floating-point numbers; each has three types.
C99_MATH = expand_names("""
acos asin atan atan2 cos sin tan acosh asinh atanh cosh sinh tanh exp exp2 expm1 frexp ilogb ldexp log
log10 log1p log2 logb modf scalbn scalbln cbrt fabs hypot pow sqrt erf erfc lgamma tgamma ceil floor
nearbyint rint lrint llrint round lround llround trunc fmod remainder remquo copysign nan nextafter
nexttoward fdim fmax fmin fma
""")
# C99 7.3
C99_COMPLEX = expand_names("""
cacos casin catan ccos csin ctan cacosh casinh catanh ccosh csinh ctanh cexp clog cabs cpow csqrt carg cimag
conj cproj creal
""")


@pytest.mark.parametrize(
    ("name", "kind", "flops"),
    [
        ("sqrt", CallKind.PURE, 1),
        ("sqrtl", CallKind.PURE, 1),
        ("__pow_finite", CallKind.PURE, 16),
        ("llvm.fmuladd.v4f64", CallKind.PURE, 2),
        ("llvm.vector.reduce.fadd.v4f32", CallKind.PURE, 1),
        ("llvm.memmove.p0.p0.i64", CallKind.COPY, 0),
        ("arc4random_uniform", CallKind.INPUT, 0),
        ("llvm.lifetime.start.p0", CallKind.IGNORE, 0),
        ("_ZSt20__throw_length_errorPKc", CallKind.EXIT, 0),
        ("_ZNSt3__16__sortIRNS_6__lessIddEEPdEEvT0_S5_T_", CallKind.PERMUTE, 0),
        ("_ZNSolsEd", CallKind.OUTPUT, 0),
    ],
)
def test_kind_and_flops(name: str, kind: CallKind, flops: int) -> None:
    call = default_library().call(name)
    assert call is not None
    assert (call.kind, call.flops) == (kind, flops)


@pytest.mark.parametrize("name", C99_MATH + C99_COMPLEX)
def test_every_function_of_c99_mathematics_is_computed_from_its_arguments(name: str) -> None:
    for suffix in ("", "f", "l"):
        call = default_library().call(name + suffix)
        assert call is not None
        assert call.kind is CallKind.PURE
        assert call.values is None or name == "nan", "what it returns has sources"


@pytest.mark.parametrize(
    ("name", "width"),
    [("modf", 8), ("modff", 4), ("modfl", 16), ("frexp", 4), ("frexpl", 4), ("remquof", 4), ("sincosl", 16)],
)
def test_results_through_pointers_have_the_width_of_their_type(name: str, width: int) -> None:
    call = default_library().call(name)
    assert call is not None
    assert {(w.size, call.width) for w in call.writes} == {(ByteCount(width), width)}


def _mistakes(name: str, row: LibraryCall) -> list[str]:
    moves = row.kind in (CallKind.COPY, CallKind.FILL, CallKind.PERMUTE)
    grows = row.kind in (CallKind.ALLOCATE, CallKind.REALLOCATE)
    at_place = moves or row.kind in (CallKind.FREE, CallKind.REALLOCATE)
    rules = {
        "size": (row.size is not None) == (moves or grows),
        "pointer": row.pointer >= 0 or not at_place,
        "source": (row.source >= 0) == (row.kind is CallKind.COPY),
        "element": (row.element is not None) == (row.kind is CallKind.PERMUTE),
        "flops": row.flops == 0 or (row.kind is CallKind.PURE and row.flops <= 32),
        "width": row.width in (1, 2, 4, 8, 16),
        "reads": not row.reads or row.reads_memory,
        "writes": not row.writes or row.stores_labels or row.kind in (CallKind.INPUT, CallKind.PARSE),
        "name": not set(name) & set(" {}#"),
    }
    return [f"{name}: {rule}" for rule, holds in rules.items() if not holds]


def test_every_row_says_what_its_effect_needs() -> None:
    rows = default_library().rows
    assert len(rows) > 1000
    assert [mistake for name, row in rows.items() for mistake in _mistakes(name, row)] == []


def test_files_name_no_function_twice() -> None:
    names = []
    tables = [r for r in (files("commanalyzer.program.ir") / "library").iterdir() if r.name.endswith(".toml")]
    for resource in tables:
        document = tomllib.loads(resource.read_text(encoding="utf-8"))
        names += [name for key in document["functions"] for name in expand_names(key)]
    assert len(names) == len(set(names)) == len(default_library().rows)


def _write(folder: Path, text: str) -> Path:
    path = folder / "rows.toml"
    path.write_text(text)
    return path


def test_rows_of_the_user_extend_and_replace(tmp_path: Path) -> None:
    text = """
[functions]
cblas_ddot = { effect = "pure", flops = 2, reads = ["#1: 8*#0", "#3: 8*#0"], values = [] }
rand = { effect = "ignore" }
"""
    model = library_with(_write(tmp_path, text))
    eight = ByteCount(8, (0,))
    assert model.call("cblas_ddot") == LibraryCall(
        CallKind.PURE, flops=2, reads=(MemoryRange(1, eight), MemoryRange(3, eight)), values=()
    )
    assert model.call("rand") == LibraryCall(CallKind.IGNORE)
    assert model.call("sin") == default_library().call("sin")
    assert default_library().call("cblas_ddot") is None


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ("f = 3", 'expected { effect = "..." }, found 3'),
        ("f = { effect = 'pur' }", "expected an effect (pure, format,"),
        ("f = { effect = 'copy', to = '#0', bytes = '#2' }", "expected 'from' for effect 'copy', found none"),
        ("f = { effect = 'free', pointer = '#0', bytes = '#1' }", "for effect 'free', found 'bytes'"),
        ("f = { effect = 'pure', flops = -1 }", "expected int >= 0, found -1 in 'flops'"),
        ("f = { effect = 'pure', flops = true }", "expected int, found True in 'flops'"),
        ("f = { effect = 'allocate', bytes = '#0+#1' }", "in 'bytes', found '#0+#1'"),
        ("f = { effect = 'allocate', bytes = 8 }", "expected str, found 8 in 'bytes'"),
        ("f = { effect = 'free', pointer = '0' }", "expected an argument such as '#0' in 'pointer'"),
        ("f = { effect = 'input', writes = ['0: 8'] }", "expected '#ARGUMENT: BYTES' in 'writes'"),
        ("f = { effect = 'input', writes = '#0: 8' }", "expected array, found '#0: 8' in 'writes'"),
        ("f = { effect = 'pure', values = ['#0'] }", "expected int, found '#0' at $[0] in 'values'"),
        ("f = { effect = 'allocate', bytes = '#0', zeroed = 1 }", "expected bool, found 1 in 'zeroed'"),
        ("'' = { effect = 'ignore' }", "expected the name of a function, found none"),
    ],
)
def test_complaints_name_file_and_row(row: str, expected: str, tmp_path: Path) -> None:
    path = _write(tmp_path, f"[functions]\n{row}\n")
    with pytest.raises(ConfigError) as caught:
        library_with(path)
    assert expected in caught.value.message
    assert caught.value.where == f"{path}, '{row.split(' =')[0].strip(chr(39))}'"
    assert "docs/reference/library-model.md" in caught.value.hint


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("functions", "expected a TOML file, found: "),
        ("[function]\n", "expected one table [functions], found the key 'function'"),
        ("", "expected one table [functions], found none"),
        (
            "[functions]\n'a b' = {effect='ignore'}\nb = {effect='exit'}",
            "expected one row for 'b', found two",
        ),
    ],
)
def test_complaints_about_the_file(text: str, expected: str, tmp_path: Path) -> None:
    path = _write(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        library_with(path)
    assert expected in caught.value.message
    assert str(path) in caught.value.where


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="the library model cannot be read"):
        library_with(tmp_path / "none.toml")


def test_calls_with_too_few_arguments_are_other_functions(tmp_path: Path) -> None:
    assert default_library().fitting("read", 2) is None
    assert default_library().fitting("read", 3) == default_library().call("read")
    model = library_with(_write(tmp_path, "[functions]\nf = { effect = 'free', pointer = '#2' }"))
    with pytest.raises(ConfigError, match="expected at least 3 arguments of f, found a call with 1"):
        model.fitting("f", 1)


@pytest.mark.parametrize("name", ["", "my_function", "@sqrt", "llvm.frobnicate", "_ZSt3foo"])
def test_unknown_names(name: str) -> None:
    assert default_library().call(name) is None
