import llvmlite.binding as llvm
import pytest

from commanalyzer.foundation.errors import IrError, UnsupportedIrError
from commanalyzer.program.ir.model import Function, Instruction, Module
from commanalyzer.program.ir.parsing.parser import parse_module

MODULE = r"""; ModuleID = 'm'
source_filename = "m"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"

%struct.P = type { i32, [2 x %struct.Q], ptr }
%struct.Q = type <{ i8, double }>
%"class.a b" = type { %struct.P }
$inline = comdat any

@plain = global i32 7, align 4
@text = private unnamed_addr constant [6 x i8] c"a;\22}\\\00", align 1
@outside = external global %struct.P, align 8
@tls = internal thread_local(localexec) global i64 0
@table = constant [2 x ptr] [ptr @callee, ptr getelementptr inbounds (i8, ptr @plain, i64 4)]
@"odd name" = global { i32, <2 x float> } { i32 1, <2 x float> <float 1.0, float -2.0> }
@other = alias i32, ptr @plain

define dso_local noundef i32 @main(i32 %argc, ptr readonly captures(none) %av) #0 personality ptr @eh {
entry:
  %slot = alloca %struct.P, align 8
  %many = alloca i32, i32 %argc, align 4
  %p = getelementptr inbounds nuw %struct.P, ptr %slot, i64 0, i32 1, i64 1
  %x = load atomic volatile i32, ptr %p syncscope("singlethread") acquire, align 4
  store volatile i32 %x, ptr %many, align 4
  %old = atomicrmw fadd ptr %slot, double 1.0 seq_cst, align 8
  %pair = cmpxchg weak ptr %p, i32 0, i32 %x acq_rel monotonic, align 4
  %ok = extractvalue { i32, i1 } %pair, 1
  %f = fadd reassoc nnan double %old, 0x3FF199999999999A
  %c = fcmp fast olt double %f, 0.0
  %s = select nnan i1 %c, double %f, double -1.000000e+00
  %v = insertelement <4 x i32> poison, i32 %x, i64 0
  %w = shufflevector <4 x i32> %v, <4 x i32> poison, <4 x i32> <i32 3, i32 poison, i32 1, i32 0>
  %t = trunc nuw i32 %x to i8
  %vc = icmp slt <4 x i32> %w, splat (i32 3)
  switch i32 %argc, label %other [
    i32 1, label %one
    i32 -2, label %two
  ]

one:                                              ; preds = %entry
  %r = invoke fastcc noundef i32 @callee(ptr noundef byval(%struct.P) align 8 %slot, i32 range(i32 0, 5) %x)
          to label %"quoted label" unwind label %pad

"quoted label":
  %fmt = call i32 (ptr, ...) @printf(ptr nonnull dereferenceable(1) @text, i32 %r) #1 [ "deopt"(i32 1) ]
  tail call void asm sideeffect "nop # $$ (", "~{memory}"()
  br label %two

pad:
  %lp = landingpad { ptr, i32 }
          cleanup
          catch ptr null
  resume { ptr, i32 } %lp

two:
  %phi = phi i32 [ 0, %entry ], [ %r, %"quoted label" ]
  ret i32 %phi

other:
  %callee = load ptr, ptr @table, align 8
  %h = call nofpclass(nan inf) double %callee(double nofpclass(nan) %s)
  call void @llvm.experimental.noalias.scope.decl(metadata !3)
  fence seq_cst
  unreachable
}

define internal fastcc i32 @callee(ptr byval(%struct.P) align 8 %0, i32 %1) {
  %3 = add nsw i32 %1, 1
  br label %4

4:                                                ; preds = %2
  %5 = mul i32 %3, sub (i32 0, i32 ptrtoint (ptr @plain to i32))
  ret i32 %5
}

define void @variadic(i32, ...) {
  ret void
}

declare i32 @printf(ptr noundef, ...) #1
declare i32 @eh(...)
declare void @llvm.experimental.noalias.scope.decl(metadata)

attributes #0 = { nounwind "frame-pointer"="all" }
attributes #1 = { nounwind }

!llvm.module.flags = !{!0}
!0 = !{i32 2, !"Debug Info Version", i32 3}
!1 = distinct !{!1}
!2 = !{!"tbaa; (", i64 0}
!3 = !{!4}
!4 = distinct !{!4, !1}
!named = !{!2}
"""


@pytest.fixture(scope="module")
def module() -> Module:
    return parse_module(MODULE)


def _function(module: Module, name: str) -> Function:
    return next(f for f in module.functions if f.name == name)


def _named(module: Module) -> dict[str, Instruction]:
    return {i.name: i for b in _function(module, "@main").blocks for i in b.instructions if i.name}


def test_text_of_the_test_is_valid_ir() -> None:
    llvm.parse_assembly(MODULE).verify()


def test_reading_what_llvm_prints_gives_the_same_instructions(module: Module) -> None:
    printed = parse_module(str(llvm.parse_assembly(MODULE)))

    def shape(m: Module) -> list[tuple[str, str, str, tuple[str, ...], tuple[str, ...]]]:
        return [
            (i.opcode, i.name, i.type.text, tuple(o.type.text for o in i.operands), i.targets)
            for f in m.functions
            for b in f.blocks
            for i in b.instructions
        ]

    assert shape(printed) == shape(module)


def test_globals(module: Module) -> None:
    found = {g.name: g for g in module.globals}
    assert found["@plain"].initializer == "7"
    assert not found["@plain"].is_constant
    assert found["@text"].initializer == r'c"a;\22}\\\00"'
    assert found["@text"].is_constant
    assert found["@outside"].is_external
    assert found["@tls"].is_thread_local
    assert found['@"odd name"'].initializer == "{ i32 1, <2 x float> <float 1.0, float -2.0> }"
    assert module.aliases == {"@other": "@plain"}


def test_named_types_are_resolved_and_keep_their_name(module: Module) -> None:
    p = module.named_types["%struct.P"]
    assert [f.text for f in p.elements] == ["i32", "[2 x %struct.Q]", "ptr"]
    assert p.elements[1].elements[0].packed
    assert module.named_types['%"class.a b"'].elements[0] == p


def test_layout_and_metadata(module: Module) -> None:
    assert module.data_layout.startswith("e-m:e")
    assert module.metadata[2] == '!{!"tbaa; (", i64 0}'


def test_declarations(module: Module) -> None:
    printf = next(d for d in module.declarations if d.name == "@printf")
    assert printf.is_vararg
    assert [t.text for t in printf.parameter_types] == ["ptr"]


def test_memory_instructions(module: Module) -> None:
    named = _named(module)
    assert named["%slot"].element_type == module.named_types["%struct.P"]
    assert [o.text for o in named["%many"].operands] == ["%argc"]
    assert [o.text for o in named["%p"].operands] == ["%slot", "0", "1", "1"]
    assert named["%p"].flags == {"inbounds", "nuw"}
    assert named["%x"].flags == {"atomic", "volatile", "acquire"}
    assert named["%old"].predicate == "fadd"
    assert named["%pair"].type.text == "{ i32, i1 }"
    assert [o.text for o in named["%pair"].operands] == ["%p", "0", "%x"]
    assert named["%ok"].type.text == "i1"
    assert named["%ok"].indices == (1,)


def test_computing_instructions(module: Module) -> None:
    named = _named(module)
    assert named["%f"].flags == {"reassoc", "nnan"}
    assert named["%f"].operands[1].text == "0x3FF199999999999A"
    assert named["%c"].predicate == "olt"
    assert named["%s"].type.text == "double"
    assert named["%w"].indices == (3, -1, 1, 0)
    assert named["%t"].type.bits == 8
    assert named["%vc"].type.text == "<4 x i1>"
    assert named["%vc"].operands[1].text == "splat (i32 3)"


def test_control_flow_instructions_span_lines(module: Module) -> None:
    main = _function(module, "@main")
    assert [b.label for b in main.blocks] == ["entry", "one", '"quoted label"', "pad", "two", "other"]
    switch = main.blocks[0].terminator
    assert switch.targets == ("other", "one", "two")
    assert switch.indices == (1, -2)
    assert switch.last_line - switch.first_line == 3
    invoke = main.blocks[1].terminator
    assert invoke.targets == ('"quoted label"', "pad")
    assert invoke.callee == "@callee"
    assert [o.text for o in invoke.operands] == ["%slot", "%x"]
    pad = main.blocks[3].instructions[0]
    assert pad.flags == {"cleanup", "catch"}
    phi = main.blocks[4].instructions[0]
    assert phi.incoming == ("entry", '"quoted label"')
    assert [o.text for o in phi.operands] == ["0", "%r"]


def test_calls(module: Module) -> None:
    named = _named(module)
    assert named["%fmt"].callee_type is not None
    assert named["%fmt"].callee_type.text == "i32 (ptr, ...)"
    assert [o.text for o in named["%fmt"].operands] == ["@text", "%r"]
    assert named["%h"].callee == "%callee"
    assembly = _function(module, "@main").blocks[2].instructions[1]
    assert assembly.callee == "asm"
    assert assembly.flags == {"tail"}


def test_lines_index_the_module(module: Module) -> None:
    for function in module.functions:
        assert module.lines[function.first_line].startswith("define")
        assert module.lines[function.last_line] == "}"
        for block in function.blocks:
            for instruction in block.instructions:
                assert instruction.opcode in module.lines[instruction.first_line]


def test_implicit_numbers_follow_llvm(module: Module) -> None:
    callee = _function(module, "@callee")
    assert [p.text for p in callee.parameters] == ["%0", "%1"]
    assert "byval(%struct.P)" in callee.parameter_flags[0]
    assert [b.label for b in callee.blocks] == ["2", "4"]
    assert callee.blocks[1].instructions[0].operands[1].text.startswith("sub (i32 0")
    variadic = _function(module, "@variadic")
    assert variadic.is_vararg
    assert variadic.parameters[0].text == "%0"


def test_unnamed_results_get_numbers() -> None:
    module = parse_module("define i32 @f() {\n  call i32 @f()\n  br label %2\n\n  ret i32 %1\n}\n")
    blocks = module.functions[0].blocks
    assert blocks[0].instructions[0].name == "%1"
    assert [b.label for b in blocks] == ["0", "2"]


def test_debug_records_and_locations() -> None:
    text = (
        "define void @f(i32 %a) !dbg !4 {\n"
        "    #dbg_value(i32 %a, !29, !DIExpression(), !52)\n"
        "    #dbg_value(!DIArgList(i32 %a, i32 1), !30, !DIExpression(DW_OP_LLVM_arg, 0), !52)\n"
        "    #dbg_label(!31, !52)\n"
        "  ret void, !dbg !53\n}\n"
    )
    function = parse_module(text).functions[0]
    assert function.debug_subprogram == 4
    assert [(r.kind, r.value, r.variable) for r in function.debug_records] == [
        ("value", "i32 %a", 29),
        ("value", "!DIArgList(i32 %a, i32 1)", 30),
    ]
    assert function.blocks[0].terminator.debug_location == 53


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("  %x = frobnicate i32 1\n  ret void\n}\n", "line 2:"),
        ("  %x = add i32 1\n  ret void\n}\n", "line 2:"),
        ("  ret void\n  %y = load i32 ptr @g\n  ret void\n}\n", "line 3:"),
        ("  %x = add i32 1, 2\n}\n", "terminator"),
        ("  ret void\n", "expected '}'"),
    ],
)
def test_errors_name_the_line_or_what_is_missing(body: str, message: str) -> None:
    with pytest.raises(IrError, match=message):
        parse_module(f"define void @f() {{\n{body}")


@pytest.mark.parametrize(
    "text",
    [
        "define void @f(i32* %p) {\n  ret void\n}\n",
        "define void @f(<vscale x 4 x i32> %p) {\n  ret void\n}\n",
        "define void @f() {\n  %x = catchswitch within none [label %y] unwind to caller\n}\n",
    ],
)
def test_unsupported_constructs_are_refused(text: str) -> None:
    with pytest.raises(UnsupportedIrError):
        parse_module(text)
