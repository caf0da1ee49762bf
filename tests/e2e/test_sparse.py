"""Programs that touch few words of a huge address range: exact flows, memory by what is touched."""

from tests.recorded import record_source
from tests.unit.recording.instrument.test_several_values import check

GIB = 1 << 30
COUNT = 72
SPARSE = """
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
enum { COUNT = 72 };
double out[COUNT];
static char *blocks[COUNT];
int main(void) {
    size_t gib = (size_t)1 << 30;
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    char *far = mmap(0, COUNT * gib, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (far == MAP_FAILED) return 9;
    for (size_t i = 0; i < COUNT; i++) {
        blocks[i] = malloc(gib);
        if (!blocks[i]) return 8;
        *(double *)(blocks[i] + 8 * i) = i;
    }
    for (size_t i = 0; i < COUNT; i++)
        *(double *)(far + i * gib) = *(double *)(blocks[COUNT - 1 - i] + 8 * (COUNT - 1 - i));
    for (size_t i = 0; i < COUNT; i++) out[i] = *(double *)(far + i * gib) + 1;
    printf("%g\\n", out[3]);
    return 0;
}
"""


def test_flows_over_a_hundred_gibibytes_are_exact_and_cost_what_is_touched() -> None:
    recorded = record_source(SPARSE)
    assert recorded.plain.exit_status == 0
    blocks = {o.name: o for o in recorded.graph.objects if o.size_bytes == GIB}
    last = [blocks[f"blocks[{COUNT - 1 - i}]"] for i in range(COUNT)]
    # keys: path of calls, and where the block begins among its blocks, the first behind a header
    begin = [(block.key.partition("+")[0], int(block.key.partition("+")[2] or 16)) for block in last]
    expected = {
        f"@out+{8 * i}": {f"{path}+{first + 8 * (COUNT - 1 - i)}"} for i, (path, first) in enumerate(begin)
    }
    check(recorded, expected)
    # pages of shadow and of the log's index for every touched word, not the terabytes that are reserved
    assert recorded.traced.peak_rss_bytes < recorded.plain.peak_rss_bytes + 32_000_000
    assert recorded.statistics.recorder_bytes < 1_000_000
