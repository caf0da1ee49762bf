; Proves: a load stored unchanged replicates both words and creates no row; small globals start at a word.
@small = global i8 0, align 1
@pair = global i16 0, align 2, !dbg !0
define void @move(ptr %from, ptr %to) {
entry:
  %x = load double, ptr %from
  store double 0.0, ptr %from
  store double %x, ptr %to
  ret void
}
!0 = !{}
