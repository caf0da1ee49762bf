; Proves: code stands behind phis and landing pads; results of invokes are read in the normal destination.
declare i32 @__gxx_personality_v0(...)
define double @callee(double %v) {
entry:
  %w = fadd double %v, 1.0
  ret double %w
}
define void @caller(ptr %a) personality ptr @__gxx_personality_v0 {
entry:
  %x = load double, ptr %a
  %r = invoke double @callee(double %x)
          to label %normal unwind label %pad
normal:
  store double %r, ptr %a
  ret void
pad:
  %e = landingpad { ptr, i32 }
          cleanup
  store double 2.0, ptr %a
  resume { ptr, i32 } %e
}
