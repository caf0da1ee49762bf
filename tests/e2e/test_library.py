"""Values on their way through the C library: the exact chains of one small program per family."""

import pytest

from commanalyzer.recording.interpreter.run import interpret
from tests.e2e.library_programs import SORTED, element, into_all, into_out, record, record_natively

# ---- callbacks ---------------------------------------------------------------------------------------------


NESTED = """
static int nested(const void *x, const void *y) {
    double two[2] = {*(const double *)x, *(const double *)y};
    qsort(two, 2, sizeof *two, compare);
    return two[0] == *(const double *)x ? -(two[0] != two[1]) : 1;
}
"""
WITH_CONTEXT = """
extern void qsort_r(void *, size_t, size_t, int (*)(const void *, const void *, void *), void *);
static int directed(const void *x, const void *y, void *sign) { return *(int *)sign * compare(x, y); }
"""


@pytest.mark.parametrize(
    ("functions", "sort", "order"),
    [
        ("", "qsort(in, 6, sizeof *in, compare);", SORTED),
        (NESTED, "qsort(in, 6, sizeof *in, nested);", SORTED),
        (WITH_CONTEXT, "int sign = -1; qsort_r(in, 6, sizeof *in, directed, &sign);", SORTED[::-1]),
    ],
    ids=["qsort", "sort inside a comparison", "qsort_r"],
)
def test_sorting_moves_values_and_its_comparison_reads_nothing(
    functions: str, sort: str, order: tuple[int, ...]
) -> None:
    recorded = record(f"""{functions}
int main(void) {{
    start();
    {sort}
    for (int i = 0; i < 6; i++) out[i] = in[i] * 2;
    printf("%g %g\\n", out[0], out[5]);
}}
""")
    assert into_out(recorded) == [element(k) for k in order]
    # six inputs, six results, the context: no version was made by sorting, no register by comparing
    assert recorded.graph.versions.tolist() == [1] * (12 + ("sign" in sort))


def test_qsort_of_structures_moves_all_their_fields() -> None:
    recorded = record("""
struct item { int key; float weight; double value; } items[4];
static int by_key(const void *x, const void *y) {
    return ((const struct item *)x)->key - ((const struct item *)y)->key;
}
int main(void) {
    for (int i = 0; i < 4; i++) { items[i].key = 3 - i; items[i].weight = i; items[i].value = i + 0.5; }
    qsort(items, 4, sizeof *items, by_key);
    for (int i = 0; i < 4; i++) out[i] = items[i].weight * items[i].value;
    printf("%g %g\\n", out[0], out[3]);
}
""")
    assert into_out(recorded) == [{f"@items+{16 * k + 4}", f"@items+{16 * k + 8}"} for k in (3, 2, 1, 0)]


def test_a_comparison_that_sums_up_in_a_loop_makes_no_values() -> None:
    recorded = record("""
struct key { double part[3]; } keys[4];
static int by_sum(const void *x, const void *y) {
    const struct key *a = x, *b = y;
    double difference = 0;
    for (int k = 0; k < 3; k++) difference += a->part[k] - b->part[k];
    return (difference > 0) - (difference < 0);
}
int main(void) {
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 3; k++) keys[i].part[k] = 10 - i + k * 0.5;
    qsort(keys, 4, sizeof *keys, by_sum);
    for (int i = 0; i < 4; i++) out[i] = keys[i].part[2] * 2;
    printf("%g %g\\n", out[0], out[3]);
}
""")
    assert into_out(recorded) == [{f"@keys+{24 * i + 16}"} for i in (3, 2, 1, 0)]
    assert recorded.graph.num_vertices == 16
    assert not recorded.graph.is_register.any()


def test_equal_elements_keep_the_order_of_the_plain_program() -> None:
    recorded = record_natively("""
struct item { int key, number; } items[64];
static int by_key(const void *x, const void *y) {
    return ((const struct item *)x)->key - ((const struct item *)y)->key;
}
int main(void) {
    for (int i = 0; i < 64; i++) { items[i].key = i * 7 % 4; items[i].number = i; }
    qsort(items, 64, sizeof *items, by_key);
    for (int i = 0; i < 64; i++) printf("%d ", items[i].number);
    for (int i = 0; i < 6; i++) out[i] = items[i].number * 0.5;
}
""")  # the C library decides over the order of equal elements
    order = [int(text) for text in recorded.plain.stdout.split()]
    assert into_out(recorded) == [{f"@items+{8 * k + 4}"} for k in order[:6]]


def test_searching_moves_nothing() -> None:
    recorded = record("""
int main(void) {
    for (int i = 0; i < 6; i++) in[i] = i;
    double key = 4;
    double *found = bsearch(&key, in, 6, sizeof *in, compare);
    out[0] = *found * 2;
    printf("%g\\n", out[0]);
}
""")
    assert into_out(recorded) == [element(4)]


def test_linear_and_tree_search() -> None:
    recorded = record_natively("""
static void *root;
int main(void) {
    start();
    size_t count = 6;
    double *found = lfind(&in[3], in, &count, sizeof *in, compare);
    out[0] = *found * 2;
    for (int i = 0; i < 6; i++) tsearch(&in[i], &root, compare);
    double key = in[2];
    out[1] = **(double **)tfind(&key, &root, compare) + 1;
    printf("%g %g\\n", out[0], out[1]);
}
""")
    assert into_out(recorded) == [element(3), element(2)]


# ---- numbers and texts -------------------------------------------------------------------------------------


def test_results_through_pointers_have_the_arguments_as_sources() -> None:
    recorded = record("""
int main(void) {
    int exponent;
    double whole;
    start();
    out[0] = modf(in[1], &whole);
    out[1] = whole * 2;
    out[2] = frexp(in[2], &exponent);
    out[3] = exponent * 0.5;
    printf("%g %g %g %g\\n", out[0], out[1], out[2], out[3]);
}
""")
    flows = into_all(recorded)
    assert (flows["@out+0"], flows["@out+16"]) == (element(1), element(2))
    assert flows["@out+8"] == element(1)  # an intrinsic with two results: in registers
    [exponent] = flows["@out+24"]
    assert flows[exponent] == element(2)


def test_a_number_that_was_printed_and_read_back_is_a_copy_of_it() -> None:
    recorded = record("""
int main(void) {
    char text[32], copy[32];
    double number;
    start();
    sprintf(text, "%.17g", in[1]);
    out[0] = strtod(text, 0) * 2;
    strcpy(copy, text);
    out[1] = atof(copy) + in[0];
    snprintf(text, sizeof text, "%g %g", in[2], in[3]);
    sscanf(text, "%*f %lf", &number);
    out[2] = number * 3;
    strcpy(text, "7");
    out[3] = atof(text) * 2;
    printf("%g %g %g %g\\n", out[0], out[1], out[2], out[3]);
}
""")
    native = into_all(recorded)
    assert native["@out+0"] == element(1)
    assert native["@out+8"] == element(0, 1)
    assert native["@out+24"] == set()
    [number] = native["@out+16"]
    assert native[number] == element(2, 3)  # both numbers are in the text


def test_each_reading_makes_new_versions() -> None:
    recorded = record_natively("""
int main(void) {
    double x[2];
    FILE *zeros = fopen("/dev/zero", "r");
    for (int step = 0; step < 3; step++) {
        if (fread(x, sizeof *x, 2, zeros) != 2) return 1;
        out[0] += x[0] * 2;
        out[1] += x[1] * 2;
    }
    fclose(zeros);
    printf("%g %g\\n", out[0], out[1]);
}
""")
    graph = recorded.graph
    [x] = [i for i, item in enumerate(graph.objects) if item.name == "x"]
    assert graph.versions[graph.home_object == x].tolist() == [3, 3]
    assert not graph.is_input[graph.home_object == x].any()


def test_scanf_writes_what_its_format_says() -> None:
    recorded = record_natively("""
int main(void) {
    int pipes[2], n = 7;
    short small[2] = {0, 9};
    float f;
    double copy[2];
    char word[8];
    start();
    copy[0] = in[0]; copy[1] = in[1];
    if (pipe(pipes) || write(pipes[1], "5 2.5 abc 1.5 6 x", 17) != 17 || close(pipes[1])) return 1;
    dup2(pipes[0], 0);
    int count = scanf("%hd %f %7s %lf%*d %d", small, &f, word, copy, &n);
    out[0] = copy[0] * 2;
    out[1] = copy[1] * 2;
    out[2] = f * 2;
    out[3] = n * 2;
    printf("%d %d %g %s %g %g %g\\n", count, small[0], f, word, out[0], out[1], out[3]);
}
""")
    assert b"4 5 2.5 abc 3" in recorded.plain.stdout
    flows = into_all(recorded)
    for sink in ("@out+0", "@out+16"):
        [read] = flows[sink]
        assert read.startswith("@main/")
        assert flows[read] == set()
    assert flows["@out+8"] == element(1)  # the second number was not read: it is still a copy


# ---- memory ------------------------------------------------------------------------------------------------


def test_reallocated_arrays_keep_their_values() -> None:
    recorded = record("""
int main(int argc, char **argv) {
    start();
    double *a = malloc(2 * sizeof *a);
    a[0] = in[0]; a[1] = in[1];
    a = realloc(a, 600 * sizeof *a);
    out[0] = a[1] * 2;
    double *b = calloc(4, sizeof *b);
    memcpy(b + 1, a, 2 * sizeof *b);
    out[1] = b[2] + b[1];
    memmove(b, b + 1, 3 * sizeof *b);
    out[2] = b[0] * 3;
    printf("%g %g %g\\n", out[0], out[1], out[2]);
    free(a);
    free(b);
}
""")
    assert into_out(recorded) == [element(1), element(0, 1), element(0)]


def test_mapped_pages_return_to_their_place() -> None:
    recorded = record_natively("""
#define _GNU_SOURCE
#include <errno.h>
#include <sys/mman.h>
extern void *mremap(void *, size_t, size_t, int, ...);
int main(void) {
    const size_t bytes = 100000;
    double *kept = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    start();
    kept[9] = in[0];
    for (int step = 0; step < 3; step++) {
        volatile double *p = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED || p[7] != 0) return 1;
        p[7] = in[1] * 2;
        out[0] += p[7] * 3;
        if (munmap((void *)p, bytes)) return 2;
    }
    kept = mremap(kept, bytes, 4 * bytes, 1);
    if (kept == MAP_FAILED) return 3;
    kept[4 * bytes / 8 - 1] = 1;
    out[1] = kept[9] * 2;
    printf("%g %g %d %d\\n", out[0], out[1], munmap((char *)kept + 1, bytes), errno == EINVAL);
}
""")
    assert recorded.plain.exit_status == 0
    flows = into_all(recorded)
    assert flows["@out+8"] == element(0)
    [page] = flows["@out+0"]
    assert flows[page] == element(1)
    graph = recorded.graph
    # one value in the pages, three versions of it
    [place] = [i for i, item in enumerate(graph.objects) if item.name == "p"]
    assert graph.versions[graph.home_object == place].tolist() == [3]
    assert graph.home_offset[graph.home_object == place].tolist() == [56]


# ---- function pointers -------------------------------------------------------------------------------------

POINTERS = """
typedef double (*unary)(double);
unary table[3] = {sin, cos, fabs};
int same;
double parts[2];
NOINLINE double apply(unary f, double x) { return f(x); }
NOINLINE void split(double (*f)(double, double *), double x) { parts[0] = f(x, &parts[1]); }
typedef void *(*mover)(void *, const void *, size_t);
NOINLINE void move(mover m, void *to, void *from, size_t n) { m(to, from, n); }
NOINLINE void sort(void (*s)(void *, size_t, size_t, int (*)(const void *, const void *)), double *v, int n) {
    s(v, n, sizeof *v, compare);
}
int main(int argc, char **argv) {
    double copy[2];
    start();
    for (int i = 0; i < 3; i++) out[i] = table[i](in[i]);
    out[3] = apply(sqrt, in[3]);
    split(modf, in[4]);
    move(memcpy, copy, in, sizeof copy);
    out[4] = copy[1] * 2;
    sort(qsort, in, 6);
    out[5] = in[1] + in[2];
    same = table[0] == sin && table[1] != sin && table[2] == fabs;
    printf("%g %g %g %d @sin\\n", out[0], out[3], out[5], same);
}
"""


def test_library_functions_called_through_pointers() -> None:
    recorded = record(POINTERS)
    assert into_out(recorded) == [element(0), element(1), element(2), element(3), element(1), element(5, 4)]
    flows = into_all(recorded)
    assert (flows["@parts+0"], flows["@parts+8"]) == (element(4), element(4))
    assert recorded.plain.stdout.endswith(b" 1 @sin\n")
    assert recorded.work.flops == interpret(recorded.module).flops
