"""Signatures of the compiled hooks against the table that instrumented code is printed from."""

import pytest

from commanalyzer.program.ir.model import Function, Module
from commanalyzer.recording.abi import HOOKS, PREFIX, Hook

# Replaced for the whole process: library code may release blocks that the program allocated.
_EXPORTED = {"@free", "@realloc"}


def _definitions(modules: dict[str, Module]) -> dict[str, Function]:
    return {f.name: f for module in modules.values() for f in module.functions}


@pytest.mark.parametrize("hook", HOOKS.values(), ids=lambda hook: hook.name)
def test_hook_is_defined_with_its_signature(hook: Hook, shim_modules: dict[str, Module]) -> None:
    function = _definitions(shim_modules)[f"@{hook.name}"]
    assert str(function.return_type) == hook.returns
    assert tuple(str(p.type) for p in function.parameters) == hook.parameters
    assert not function.is_vararg


def test_declarations_are_what_llvm_reads() -> None:
    assert HOOKS["ca_row_2"].declaration() == "declare void @ca_row_2(i32, i64, i32, i64, i64)"
    assert HOOKS["ca_region_enter"].declaration() == "declare void @ca_region_enter()"


def test_every_function_is_hidden_or_meant_to_be_seen(shim_modules: dict[str, Module]) -> None:
    visible = set()
    for module in shim_modules.values():
        for function in module.functions:
            header = module.lines[function.first_line].split("(")[0].split()
            if "hidden" not in header and "internal" not in header:
                visible.add(function.name)
    assert visible == _EXPORTED


def test_every_name_that_is_linked_has_the_reserved_prefix(shim_modules: dict[str, Module]) -> None:
    names = set()
    for module in shim_modules.values():
        for function in module.functions:
            if "internal" not in module.lines[function.first_line].split("(")[0].split():
                names.add(function.name)
    assert {name for name in names - _EXPORTED if not name.startswith(f"@{PREFIX}")} == set()
