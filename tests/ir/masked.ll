; Proves: lanes that are on are loaded, stored, gathered and scattered; the others have no flow.
@a = global [4 x double] zeroinitializer
@b = global [4 x double] zeroinitializer
@m = global [4 x i32] zeroinitializer
@i = global [4 x i32] zeroinitializer
@o = global [4 x double] zeroinitializer
@g = global [4 x double] zeroinitializer
@s = global [4 x double] zeroinitializer
@z = global [4 x double] zeroinitializer
@t = global double 0.0
define void @start(i32 %n) noinline {
  %x = sitofp i32 %n to double
  %v0 = insertelement <4 x double> poison, double %x, i64 0
  %v1 = shufflevector <4 x double> %v0, <4 x double> poison, <4 x i32> zeroinitializer
  %v = fadd <4 x double> %v1, <double 0.0, double 1.0, double 2.0, double 3.0>
  store <4 x double> %v, ptr @a
  store <4 x double> %v1, ptr @b
  %k0 = insertelement <4 x i32> poison, i32 %n, i64 0
  %k1 = shufflevector <4 x i32> %k0, <4 x i32> poison, <4 x i32> zeroinitializer
  %k = add <4 x i32> %k1, <i32 -1, i32 0, i32 -1, i32 1>
  store <4 x i32> %k, ptr @m
  %j = add <4 x i32> %k1, <i32 2, i32 1, i32 0, i32 -1>
  store <4 x i32> %j, ptr @i
  ret void
}
define i32 @main(i32 %argc, ptr %argv) {
  call void @start(i32 %argc)
  %k = load <4 x i32>, ptr @m
  %on = icmp ne <4 x i32> %k, zeroinitializer
  %va = load <4 x double>, ptr @a
  %part = call <4 x double> @llvm.masked.load.v4f64.p0(ptr align 8 @b, <4 x i1> %on, <4 x double> poison)
  %twice = fadd <4 x double> %part, %part
  call void @llvm.masked.store.v4f64.p0(<4 x double> %twice, ptr align 8 @o, <4 x i1> %on)
  %zeroed = call <4 x double> @llvm.masked.load.v4f64.p0(ptr align 8 @b, <4 x i1> %on, <4 x double> zeroinitializer)
  %more = fadd <4 x double> %zeroed, <double 1.0, double 1.0, double 1.0, double 1.0>
  store <4 x double> %more, ptr @z
  %n = load <4 x i32>, ptr @i
  %w = sext <4 x i32> %n to <4 x i64>
  %p = getelementptr double, ptr @a, <4 x i64> %w
  %all = call <4 x double> @llvm.masked.gather.v4f64.v4p0(<4 x ptr> align 8 %p, <4 x i1> <i1 1, i1 1, i1 1, i1 1>, <4 x double> poison)
  %sum = fadd <4 x double> %all, %va
  store <4 x double> %sum, ptr @g
  %q = getelementptr double, ptr @s, <4 x i64> %w
  call void @llvm.masked.scatter.v4f64.v4p0(<4 x double> %va, <4 x ptr> align 8 %q, <4 x i1> %on)
  %back = load double, ptr @s
  %red = call double @llvm.vector.reduce.fadd.v4f64(double %back, <4 x double> %va)
  store double %red, ptr @t
  %fmt = load double, ptr @g
  %status = fptosi double %red to i32
  ret i32 %status
}
declare <4 x double> @llvm.masked.load.v4f64.p0(ptr, <4 x i1>, <4 x double>)
declare void @llvm.masked.store.v4f64.p0(<4 x double>, ptr, <4 x i1>)
declare <4 x double> @llvm.masked.gather.v4f64.v4p0(<4 x ptr>, <4 x i1>, <4 x double>)
declare void @llvm.masked.scatter.v4f64.v4p0(<4 x double>, <4 x ptr>, <4 x i1>)
declare double @llvm.vector.reduce.fadd.v4f64(double, <4 x double>)
