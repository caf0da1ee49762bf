; Proves: a sum read only behind its loop is collected (reset, one term per element) and named once.
define void @sum(ptr %a, ptr %out, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %back ]
  %s = phi double [ 0.0, %entry ], [ %t, %back ]
  %p = getelementptr double, ptr %a, i64 %i
  %x = load double, ptr %p
  %t = fadd double %s, %x
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %back, label %leave
back:
  br label %loop
leave:
  br label %exit
exit:
  %r = phi double [ %t, %leave ]
  store double %r, ptr %out
  ret void
}
