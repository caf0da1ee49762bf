"""Vectors that loops carry: the same numbers when their lanes are computed apart."""

import ctypes

import llvmlite.binding as llvm
import numpy as np

from commanalyzer.program.frontend.forwarding import with_lanes
from commanalyzer.program.ir.parsing.parser import parse_module

_LOOP = """
declare <4 x float> @llvm.fma.v4f32(<4 x float>, <4 x float>, <4 x float>)
declare <4 x float> @llvm.maxnum.v4f32(<4 x float>, <4 x float>)

define void @run(ptr %x, ptr %out, i64 %n) {
entry:
  br label %loop

loop:
  %sum = phi <4 x float> [ zeroinitializer, %entry ], [ %next, %again ]
  %"the most" = phi <4 x float> [ <float -1.0, float NAN, float 3.0, float -0.0>, %entry ], [ %most, %again ]
  %old = phi <4 x float> [ splat (float 1.0), %entry ], [ %sum, %again ]
  %counts = phi <4 x i32> [ zeroinitializer, %entry ], [ %counted, %again ]
  %i = phi i64 [ 0, %entry ], [ %i.next, %again ]
  %p = getelementptr <4 x float>, ptr %x, i64 %i
  %value = load <4 x float>, ptr %p, align 16
  %s = fdiv <4 x float> %value, <float 3.0, float 7.0, float -3.0, float 0.0>
  %turned = shufflevector <4 x float> %s, <4 x float> %old, <4 x i32> <i32 1, i32 4, i32 3, i32 6>
  %one = extractelement <4 x float> %turned, i64 1
  %set = insertelement <4 x float> %turned, float %one, i64 2
  %fma = call <4 x float> @llvm.fma.v4f32(<4 x float> %set, <4 x float> %set, <4 x float> %sum)
  %less = fcmp olt <4 x float> %value, %s
  %next = select <4 x i1> %less, <4 x float> %fma, <4 x float> %value
  %most = call <4 x float> @llvm.maxnum.v4f32(<4 x float> %"the most", <4 x float> %value)
  %wide = zext <4 x i1> %less to <4 x i32>
  %counted = add nsw <4 x i32> %counts, %wide
  %i.next = add nuw nsw i64 %i, 1
  %done = icmp eq i64 %i.next, %n
  br i1 %done, label %exit, label %again

again:
  br label %loop

exit:
  %last = phi <4 x float> [ %next, %loop ]
  %top = phi <4 x float> [ %most, %loop ]
  %all = phi <4 x i32> [ %counted, %loop ]
  %more = fneg <4 x float> %last
  store <4 x float> %more, ptr %out, align 16
  %out2 = getelementptr i8, ptr %out, i64 16
  store <4 x float> %top, ptr %out2, align 16
  %out3 = getelementptr i8, ptr %out, i64 32
  store <4 x i32> %all, ptr %out3, align 16
  ret void
}
""".replace("NAN", "0x7FF8000000000000")


def _computed(text: str) -> bytes:
    """What ``@run`` stores for 50 vectors of normally distributed numbers."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine()
    module = llvm.parse_assembly(text)
    module.verify()
    x = np.random.default_rng(5).normal(size=(51, 4)).astype(np.float32)
    out = np.zeros(16, np.float32)
    skipped = -x.ctypes.data % 16 // 4, -out.ctypes.data % 16 // 4  # vectors are aligned
    with llvm.create_mcjit_compiler(module, machine) as engine:
        engine.finalize_object()
        run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(
            engine.get_function_address("run")
        )
        run(x.ctypes.data + 4 * skipped[0], out.ctypes.data + 4 * skipped[1], 50)
    return out[skipped[1] :][:12].tobytes()


def test_lanes_apart_compute_the_same_bits() -> None:
    apart = with_lanes(_LOOP)
    left = {
        i.opcode
        for block in parse_module(apart).functions[0].blocks
        for i in block.instructions
        if i.type.kind == "vector"
    }
    assert left == {"load", "insertelement", "shufflevector"}
    assert _computed(apart) == _computed(_LOOP)


def test_what_no_loop_carries_stays() -> None:
    text = "define <2 x float> @f(<2 x float> %x) {\n  %y = fneg <2 x float> %x\n  ret <2 x float> %y\n}\n"
    assert with_lanes(text) is text
