"""Programs on values smaller than four bytes against theory: each has its own owner and its own bytes."""

import pytest

from tests.e2e.analysed import analyse_text

N, STEPS, PARTS, SIDE = 128, 6, 16, 4

_LIFE = """
#define N %d
static %s g[N][N], h[N][N];
int main(void) {
  for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) g[i][j] = ((i * 7 + j * 13 + i * j) >> 2) & 1;
  for (int t = 0; t < %d; t++) {
    for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) {
      int n = 0;
      for (int a = -1; a <= 1; a++)
        for (int b = -1; b <= 1; b++) if (a || b) n += g[(i + a + N) %% N][(j + b + N) %% N];
      h[i][j] = n == 3 || (n == 2 && g[i][j]);
    }
    for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) g[i][j] = h[i][j];
  }
  int s = 0;
  for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) s += g[i][j];
  printf("%%d\\n", s);
}
"""
_BLUR = """
#define N %d
int main(void) {
  unsigned char *in = malloc(N * N), *out = calloc(N, N);
  for (int i = 0; i < N * N; i++) in[i] = (i * 7 + i / N * 5) & 255;
  for (int i = 1; i < N - 1; i++) for (int j = 1; j < N - 1; j++)
    out[i * N + j] = (4 * in[i * N + j] + in[i * N + j - 1] + in[i * N + j + 1]
                      + in[i * N - N + j] + in[i * N + N + j]) / 8;
  fwrite(out, 1, N * N, stdout);
}
"""


@pytest.mark.parametrize(("kind", "size"), [("unsigned char", 1), ("short", 2), ("int", 4)])
def test_life_sends_the_edges_of_its_blocks(kind: str, size: int) -> None:
    """All borders of a torus both ways, corners, and the partial sums of the last line, which are ints."""
    best = analyse_text(_LIFE % (N, kind, STEPS), nodes=PARTS).best(PARTS)
    assert best.method.startswith("blocks 4x4")
    borders = 2 * SIDE * 2 * N * STEPS
    corners = 4 * PARTS * STEPS
    assert best.comm_bytes == size * (borders + corners) + 4 * (PARTS - 1)


def test_blur_of_bytes_sends_the_edges_of_its_blocks() -> None:
    """Inner borders both ways, without the rim of the image that is only read."""
    width = 64
    found = analyse_text(_BLUR % width, nodes=PARTS).best(PARTS).comm_bytes
    most = 2 * (SIDE - 1) * 2 * (width - 2)
    assert 0.9 * most <= found <= most
