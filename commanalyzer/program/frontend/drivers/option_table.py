"""What compiler options mean for us: a table of data, no behaviour."""

from __future__ import annotations

# Options whose value is the next word, when they stand alone ("-I dir", but not "-Idir").
WITH_VALUE = frozenset(
    (
        "-o", "-x", "-I", "-L", "-D", "-U", "-l", "-T", "-u", "-z", "-e", "-h", "-A", "-B", "-F",
        "-J", "-G", "-V", "-y", "-arch", "-aux-info", "-cxx-isystem", "-dumpbase", "-dumpbase-ext",
        "-dumpdir", "-framework", "-idirafter", "-iframework", "-imacros", "-include",
        "-include-pch", "-iprefix", "-iquote", "-isysroot", "-isystem", "-ivfsoverlay",
        "-iwithprefix", "-iwithprefixbefore", "-MF", "-MJ", "-MQ", "-MT", "-mllvm", "-module-dir",
        "-target", "--param", "--sysroot", "-wrapper", "-Xassembler", "-Xclang", "-Xflang",
        "-Xlinker", "-Xpreprocessor",
    )
)  # fmt: skip

# Of these, the ones that are looked at, which may have their value in the same word.
JOINED = ("-o", "-x", "-L", "-l", "-J")

# Options that one compiler knows and another may not; of these, the ones that go to the assembler. What a
# linker knows is asked as -Wl.
KNOWN_BY_SOME_PREFIXES = ("-f", "-m", "-W", "-q", "-g")
KNOWN_BY_SOME = frozenset(("-p",))
FOR_ASSEMBLER = "-Wa,"
# Known, but not possible with the bundled compiler: its C library is shared, profiles of gcc are not its own.
NOT_BUNDLED = frozenset(("-static", "-fprofile-use", "-fbranch-probabilities", "-fsplit-stack"))
# Makes of a compiler whose options projects are written for.
MODELS = {"c": "gcc", "c++": "g++", "fortran": "gfortran"}
# For the linker; the bundled compiler applies them even where it does not link.
LINK_ONLY_PREFIXES = ("-l", "-Xlinker", "-rdynamic", "-T", "-z")

# Options with which every source has an output of its own.
OUTPUT_PER_SOURCE = frozenset(("-c", "-S", "-E", "-M", "-MM", "-fsyntax-only"))

# With one of these the compiler makes no object code: it is called as it stands.
NO_OBJECT = frozenset(
    (
        "-E", "-M", "-MM", "-S", "-fsyntax-only", "-emit-llvm", "-emit-ast", "--precompile",
        "--version", "-version", "-dumpversion", "-dumpfullversion", "-dumpmachine", "-dumpspecs",
        "-###", "--help", "-help", "-print-targets", "--analyze", "-fc1", "-cc1", "-cc1as",
    )
)  # fmt: skip
NO_OBJECT_PREFIXES = ("-print-", "--print-", "--help=", "-print=")

LANGUAGE_OF_SUFFIX = {
    **dict.fromkeys((".c", ".i"), "c"),
    **dict.fromkeys((".cc", ".cp", ".cpp", ".cxx", ".c++", ".C", ".CC", ".CPP", ".CXX", ".ii"), "c++"),
    **dict.fromkeys((".s", ".S", ".sx", ".asm"), "assembler"),
    **dict.fromkeys((".ll", ".bc"), "ir"),
    **{
        suffix: "fortran"
        for small in (".f", ".for", ".ftn", ".f77", ".f90", ".f95", ".f03", ".f08", ".f18")
        for suffix in (small, small.upper())
    },
    **dict.fromkeys((".h", ".hh", ".hpp", ".hxx", ".H", ".h++"), "header"),
    **dict.fromkeys((".m", ".mm", ".cu", ".hip", ".d", ".go"), "other"),
}
LANGUAGE_OF_X = {
    **dict.fromkeys(("c", "cpp-output"), "c"),
    **dict.fromkeys(("c++", "c++-cpp-output"), "c++"),
    **dict.fromkeys(("assembler", "assembler-with-cpp"), "assembler"),
    "ir": "ir",
    **dict.fromkeys(("f77", "f77-cpp-input", "f95", "f95-cpp-input"), "fortran"),
}
# Languages whose sources become bitcode.
WITH_IR = frozenset(("c", "c++", "fortran", "ir"))

# Linking that is done where no object is given: link-time optimisation would turn objects into bitcode,
# which has no sections to carry ours (and gcc's linker plugin drops the sections of such objects).
LINK_TIME_OPTIMISATION = (
    "-flto", "-fno-lto", "-ffat-lto-objects", "-fno-fat-lto-objects", "-fwhole-program-vtables",
)  # fmt: skip
OPENMP = ("-fopenmp", "-fno-openmp", "-openmp", "-qopenmp")
# Options that turn OpenMP on, and so define _OPENMP.
OPENMP_ON = frozenset(
    ("-fopenmp", "-fopenmp=libomp", "-fopenmp=libgomp", "-fopenmp=libiomp5", "-openmp", "-qopenmp")
)
OPENMP_LIBRARIES = frozenset(("gomp", "omp", "iomp5"))
OTHER_TARGET = ("-m32", "-mx32", "-m16")

# Instruction sets: the embedded IR is for every x86-64.
INSTRUCTION_SET_PREFIXES = (
    "-march=", "-mcpu=", "-mtune=", "-mavx", "-msse", "-mssse", "-mfma", "-mbmi", "-mf16c",
    "-mpopcnt", "-mlzcnt", "-maes", "-mpclmul", "-mrdrnd", "-mprefer-vector-width", "-mabm",
    "-mmovbe", "-mxsave", "-madx", "-msha", "-mvaes", "-mgfni", "-mamx",
)  # fmt: skip

# Not for the embedded IR: what optimises, instruments, links, warns, reports or names outputs.
NOT_FOR_IR_PREFIXES = (
    "-O", "-g", "-fsanitize", "-fno-sanitize", "-fprofile", "-fno-profile", "-fcoverage",
    "-ftest-coverage", "-fauto-profile", "-fcf-protection", "-finstrument-functions", "-fxray",
    "-fstack-protector", "-fno-stack-protector", "-fstack-clash", "-fplugin", "-fpass-plugin",
    "-fdiagnostics", "-fcolor", "-fno-color", "-fembed-bitcode", "-fuse-ld", "-fopenacc",
    "-fopt-info", "-fsave-optimization-record", "-ftime-", "-fvect", "-ftree-", "-fno-tree-",
    "-fipa-", "-funroll", "-fmodules-ts", "-save-temps", "--save-temps", "-W", "-pedantic", "-L",
    "-l", "-static", "-shared", "-pie", "-no-pie", "-nopie", "-rdynamic", "-nostartfiles",
    "-D_FORTIFY_SOURCE", "-R",
)  # fmt: skip
NOT_FOR_IR = frozenset(
    (
        "-c", "-o", "-x", "-pg", "-p", "-pipe", "-v", "-s", "-r", "-w", "--coverage", "-MD", "-MMD",
        "-MP", "-MG", "-MV", "-MF", "-MT", "-MQ", "-MJ", "-Xlinker", "-T", "-u", "-z", "-e", "-h",
        "-mllvm", "-y", "-J", "-module-dir", "-wrapper", "-include-pch", "-Q", "-H",
    )
)  # fmt: skip

# They change which definition a call reaches; linked as IR, the program does not see them.
NAME_CHANGING_LINKER_PREFIXES = ("--wrap", "-wrap", "--defsym", "-defsym")
