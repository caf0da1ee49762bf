; Proves: local arrays of fixed size move to the frame (lifetime markers vanish), others get storage of their own.
define double @work(i64 %n) {
entry:
  %fixed = alloca [4 x double], align 8
  %open = alloca double, i64 %n, align 8
  call void @llvm.lifetime.start.p0(ptr %fixed)
  store double 1.0, ptr %fixed
  store double 2.0, ptr %open
  %x = load double, ptr %fixed
  call void @llvm.lifetime.end.p0(ptr %fixed)
  ret double %x
}
declare void @llvm.lifetime.start.p0(ptr)
declare void @llvm.lifetime.end.p0(ptr)
