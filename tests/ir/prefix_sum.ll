; Proves: every partial sum of a running sum that is stored is a chain: named in each iteration, then stored.
define void @scan(ptr %a, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %back ]
  %s = phi double [ 0.0, %entry ], [ %t, %back ]
  %p = getelementptr double, ptr %a, i64 %i
  %x = load double, ptr %p
  %t = fadd double %s, %x
  store double %t, ptr %p
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %back, label %exit
back:
  br label %loop
exit:
  ret void
}
