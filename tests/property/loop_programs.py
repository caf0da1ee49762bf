"""Hypothesis strategy for C programs that repeat loops over arrays: what a recorder may take a short cut for.

Every loop runs in every time step, so that it can be known from before; the sizes are known at run time only.
"""

from hypothesis import strategies as st

from tests.property.c_expressions import pick

LOOPS = {
    "stencil": "for (int i = 1; i < n - 1; i++) b[i] = 0.25 * (a[i - 1] + 2.0 * a[i] + a[i + 1]);",
    "in place": "for (int i = 1; i < n - 1; i++) a[i] = 0.5 * (a[i - 1] + a[i + 1]);",
    "copy": "for (int i = 0; i < n; i++) a[i] = b[i];",
    "backward copy": "for (int i = 0; i < n; i++) b[i] = a[n - 1 - i];",
    "shift down": "for (int i = 0; i + 1 < n; i++) a[i] = a[i + 1];",
    "shift up": "for (int i = n - 1; i > 0; i--) b[i] = b[i - 1];",
    "negative stride": "for (int i = n - 1; i >= 0; i--) c[i] = a[i] * b[i] + c[i];",
    "stride of two": "for (int i = 0; i < n; i += 2) c[i] = a[i] + b[i / 2];",
    "unsigned stride": "for (unsigned i = 0; i < (unsigned)n; i += 3) c[i] += 1.0 + a[i];",
    "long index": "for (size_t i = 2; i <= (size_t)n - 1; i++) c[i - 2] = a[i] - c[i];",
    "swap": "{ double *x = p; p = q; q = x; }",
    "through pointers": "for (int i = 0; i < n; i++) q[i] = p[i] + 0.125 * a[i];",
    "pointer to pointer": "for (int i = 0; i < n; i++) a[i] = p[i];",
    "walking pointers": "{ double *o = c; for (const double *x = a, *e = a + n; x != e; x++) *o++ = *x * 2.0;"
    " }",
    "overlapping": "{ const double *x = a; double *y = a + 1; for (int i = 0; i < n - 1; i++) y[i] = 0.5 *"
    " x[i]; }",
    "overlapping copy": "{ const double *x = b; double *y = b + 2; for (int i = 0; i < n - 2; i++) y[i] ="
    " x[i]; }",
    "plane": "for (int i = 1; i < R - 1; i++) for (int j = 1; j < C - 1; j++)"
    " w[i][j] = 0.25 * (m[i - 1][j] + m[i + 1][j] + m[i][j - 1] + m[i][j + 1]);",
    "plane back": "for (int i = 1; i < R - 1; i++) for (int j = 1; j < C - 1; j++) m[i][j] = w[i][j];",
    "part of a plane": "for (int i = 0; i < rows; i++) for (int j = 0; j < n % C; j++)"
    " m[i][j] = 0.5 * m[i][j] + w[i][j];",
    "triangle": "for (int i = 0; i < rows; i++) for (int j = 0; j <= i; j++) m[i][j] += w[j][i];",
    "rows copied": "for (int i = 0; i < rows; i++) memcpy(w[i], m[i], sizeof w[i]);",
    "product": "for (int i = 0; i < rows; i++) for (int j = 0; j < C; j++)"
    " { double s = 0.0; for (int k = 0; k < rows; k++) s += m[i][k] * w[k][j]; v[i][j] = s; }",
    "product in memory": "for (int i = 0; i < rows; i++) for (int k = 0; k < rows; k++)"
    " for (int j = 0; j < C; j++) v[i][j] += m[i][k] * w[k][j];",
    "matrix times vector": "for (int i = 0; i < rows; i++)"
    " { double s = 0.0; for (int j = 0; j < C; j++) s += m[i][j] * a[j % n]; b[i % n] = s; }",
    "columns": "for (int j = 0; j < C; j++) { double s = 0.0; for (int i = 0; i < rows; i++) s +="
    " m[i][j]; c[j % n] = s; }",
    "sums of rows": "for (int i = 0; i < rows; i++)"
    " { double s = 0.0; for (int j = 0; j < C; j++) s += m[i][j] * a[j]; b[i] = s; }",
    "sums of columns": "for (int j = 0; j < C; j++)"
    " { double s = 0.0; for (int i = 0; i < rows; i++) s += w[i][j]; c[j] = 0.5 * s + a[j]; }",
    "sums of columns again": "for (int j = C - 1 - t % 3; j >= 0; j--)"
    " { double s = 0.0; for (int i = 0; i < rows; i++) s += w[i][j]; c[j] = s * a[C - 1 - j]; }",
    "sums of scaled rows": "for (int i = 0; i < rows; i++) { double x = a[2 * i];"
    " double s = 0.0; for (int j = t % 2; j < C - t % 2; j++) s += x * m[i][j] + d[3]; b[3 * i] = s; }",
    "two sums of rows": "for (int i = 0; i < rows; i++) { double s = 0.0, z = 1.0;"
    " for (int j = 0; j < C; j++) { s += m[i][j]; z *= w[i][j] + 1.0; } v[i][0] = s / z; v[i][1] = a[i]; }",
    "sums one after the other": "for (int i = 0; i < rows; i++) { double s = 0.0, z = 0.0;"
    " for (int j = 0; j < C; j++) s += m[i][j]; for (int j = 0; j < n; j++) z += a[j]; c[i] = s + z; }",
    "sums to one place": "for (int i = 0; i < rows; i++)"
    " { double s = 0.0; for (int j = 0; j < C; j++) s += m[i][j] * w[i][j]; d[t % 4] = s; }",
    "symmetric product": "for (int i = 0; i < rows; i++) for (int j = 0; j <= i; j++)"
    " { double s = 0.0; for (int k = 0; k < C; k++) s += m[i][k] * m[j][k]; v[j][i] = s / n; }",
    "convolution": "for (int i = 0; i < rows - 2; i++) for (int j = 0; j < n % 7; j++) { double s = a[i]; for"
    " (int k = 0; k < 3; k++) for (int l = 0; l < 3 + t % 2; l++) s += w[k][l] * m[i + k][j + l];"
    " v[i][j] = s / n; }",
    "product of parts": "for (int i = t % 2; i < rows; i++) for (int j = 0; j < C - t % 3; j++)"
    " { double s = 0.0; for (int k = 0; k < rows; k++) s += w[i][k] * m[k][j]; v[i][j] = s; }",
    "sums added to elements": "for (int i = 0; i < rows; i++) for (int j = 0; j < rows; j++)"
    " { double s = 0.0; for (int k = 0; k < rows; k++) s += m[i][k] * w[j][k]; v[i][j] += s; }",
    "rows summed in place": "for (int i = 0; i < rows; i++)"
    " { double s = 0.0; for (int j = 0; j < C; j++) s += 0.125 * m[i][j]; m[i][i] = s; }",
    "product onto values": "for (int i = 0; i < rows; i++) for (int j = 0; j < C; j++)"
    " { double s = v[i][j]; for (int k = 0; k < rows; k++) s += m[i][k] * w[k][j]; v[i][j] = s; }",
    "product of tiles": "{ static double x[5][6], y[6][4], z[5][4]; int o = t % 3; for (int i = 0; i < 5;"
    " i++) { memcpy(x[i], m[i + o / 2] + o, 48); memcpy(z[i], v[i] + o, 32); for (int k = 0; k < 4; k++)"
    " y[i][k] = w[i][k + o]; } for (int h = 0; h < 2; h++) for (int i = 0; i < 5; i++) for (int j = 0; j < 4;"
    " j++) { double s = z[i][j]; for (int k = 0; k < 5; k++) s += x[i][k] * y[k][j]; z[i][j] = s; }"
    " for (int i = 0; i < 5; i++) memcpy(v[i] + o, z[i], sizeof z[i]); }",
    "product over its factor": "{ memcpy(w[2], m[1], 176); for (int i = 0; i < rows; i++) for (int j = 0;"
    " j < 7; j++) { double s = w[i][j]; for (int k = 0; k < 7; k++) s += m[i][k] * w[k][j]; w[i][j] = s; }}",
    "sums onto copies": "{ memcpy(w, m, 616); for (int i = 0; i < 7; i++) for (int j = 0; j < 5; j++) {"
    " double s = w[i][j]; for (int k = 0; k < 5; k++) s += v[j][k] * w[i][5 + k]; w[i][j] = s + w[i][j]; }}",
    "products of planes": "{ static double z[2][3][4]; memcpy(m[1], w[0], 88); for (int g = 0; g < 2;"
    " g++) for (int i = 0; i < 3; i++) for (int j = 0; j < 4; j++) { double s = z[g][i][j]; for (int k = 0;"
    " k < 5; k++) s += m[g + i][k] * w[k][j]; z[g][i][j] = s; } v[t % R][0] += z[1][t % 3][2]; }",
    "row copied": "memcpy(m[t % R], w[1], 6 * sizeof **m);",
    "dot product": "{ double s = 0.0; for (int i = 0; i < n; i++) s += a[i] * b[i]; d[t % 4] = s; }",
    "long sum": "{ double s = 0.0; for (int i = 0; i < 700; i++) s += big[i] * big[700 + i] + big[2 * i];"
    " d[0] = s; }",
    "longer sum": "{ double s = 0.0; for (int i = 0; i < 5000; i++) s += big[i % 2000]; d[1] += s; }",
    "sum of rows": "{ double s = 0.0; for (int i = 0; i < rows; i++) for (int j = 0; j < C; j++) s +="
    " m[i][j]; d[2] = s; }",
    "carried sum": "{ double s = d[1]; for (int i = 0; i < n; i++) s += a[i]; d[1] = s; }",
    "empty sums onto values": "for (int i = 0; i < rows; i++) { double s = w[i][1]; for (int o = 0; o < 2;"
    " o++) for (int j = 0; j < zero; j++) s += m[i][j]; v[i][1] = s; }",
    "empty sums at times": "for (int i = 0; i < n; i++) { double s = b[i]; for (int o = 0; o < 2; o++) for"
    " (int j = 0; j < k[i] % 3; j++) s += a[j + o] * b[j]; c[i] = s; e[i] = s + 1.0; }",
    "empty sums onto computed values": "for (int i = 0; i < n; i++) { double s = i % 3 ? a[i] * b[i] : 2.0;"
    " for (int o = 0; o < 2; o++) for (int j = 0; j < i % 3; j++) s += m[j][o]; c[i] = s; }",
    "empty sums of integers": "for (int i = 0; i < n; i++) { int s = idx[i]; for (int o = 0; o < 2; o++) for"
    " (int x = 0; x < i % 3; x++) for (int j = 0; j < t; j++) s += perm[j + o]; k[i] = s; }",
    "empty maxima": "for (int i = 0; i < n; i++) { double s = b[i]; for (int o = 0; o < 2; o++) for (int j ="
    " 0; j < k[i] % 3; j++) s = a[j] > s ? a[j] : s; c[i] = s; }",
    "empty sums that are doubled": "for (int i = 0; i < n; i++) { long s = l[i]; for (int o = 0; o < 3; o++)"
    " { for (int j = 0; j < i % 3; j++) s += l[j + o]; if ((i + o) % 5 == 1) s = 2 * s % 999; } l[i / 2] = s;"
    " }",
    "sum and store": "{ double s = 0.0; for (int i = 0; i < n; i++) { s += a[i]; c[i] = a[i] * 0.5 + b[i]; }"
    " d[3] = s; }",
    "sum and copy": "{ double s = 0.0; for (int i = 0; i < n; i++) { s += p[i]; q[i] = a[i]; } d[3] = s; }",
    "sum that starts anew": "{ double s = 0.0; for (int i = 0; i < n; i++) { s += a[i];"
    " if (i % 3 == 1) s = 0.0; } d[2] = s; }",
    "two sums": "{ double s = 0.0, z = 1.0; for (int i = 0; i < n; i++) { s += a[i]; z *= b[i]; } d[0] ="
    " s; d[1] = z; }",
    "scaled": "{ double alpha = a[0] + b[n - 1]; for (int i = 0; i < n; i++) c[i] = alpha * a[i] + b[i]; }",
    "constant": "for (int i = 0; i < n; i++) c[i] = 1.5;",
    "from the step": "for (int i = 0; i < n; i++) c[i] = t + i;",
    "minimum": "{ double s = a[0]; for (int i = 1; i < n; i++) if (a[i] < s) s = a[i]; d[2] = s; }",
    "condition": "for (int i = 0; i < n; i++) if (a[i] > 0.5) b[i] = a[i] * 0.5;",
    "selection": "for (int i = 0; i < n; i++) b[i] = a[i] > c[i] ? a[i] : c[i] + 1.0;",
    "early exit": "for (int i = 0; i < n; i++) { if (a[i] > 1.25) break; c[i] = a[i] + 1.0; }",
    "library": "for (int i = 0; i < n; i++) c[i] = sin(a[i]) + fabs(b[i]);",
    "floats": "for (int i = 0; i < n; i++) f[i] = f[i] * 0.5f + g[i];",
    "copied floats": "for (int i = 0; i < n; i++) g[i] = f[i];",
    "floats to doubles": "for (int i = 0; i < n; i++) a[i] = f[i];",
    "doubles to floats": "for (int i = 0; i < n; i++) f[i] = (float)a[i];",
    "integers": "for (int i = 0; i < n; i++) k[i] = k[i] % 97 + 3 * i;",
    "shorts": "for (int i = 0; i < n; i++) h[i] = (short)(h[i] % 50 + k[i] % 5);",
    "copied shorts": "for (int i = 0; i < n; i++) h[i] = h[n - 1 - i];",
    "indirect read": "for (int i = 0; i < n; i++) c[i] = a[idx[i]] + b[i];",
    "indirect copy": "for (int i = 0; i < n; i++) c[i] = a[idx[i]];",
    "indirect sum": "for (int i = 0; i < n; i++) c[idx[i]] += b[i];",
    "changing index": "for (int i = 0; i < n; i++) idx[i] = (idx[i] + 1) % n;",
    "sparse": "for (int i = 0; i < rows; i++) { double s = 0.0;"
    " for (int j = first[i]; j < first[i + 1]; j++) s += a[j] * b[idx[j]]; c[i] = s; }",
    "recurrence": "for (int i = 1; i < n; i++) a[i] = 0.5 * a[i - 1] + b[i];",
    "rotation": "{ double x = a[0], y = a[1]; for (int i = 0; i < n; i++)"
    " { double z = x + y; x = y; y = z * 0.5; c[i] = z; } }",
    "structures": "for (int i = 0; i < n; i++) pts[i].x += 0.125 * pts[i].v;",
    "copied structures": "for (int i = 1; i < n; i++) pts[i] = pts[i - 1];",
    "no rounds": "for (int i = 0; i < zero; i++) a[i] += 1.0;",
    "one round": "for (int i = 0; i < zero + 1; i++) a[i] += 1.0;",
    "cleared": "memset(c, 0, sizeof(double) * (size_t)n);",
    "cleared rows": "for (int i = 0; i < rows; i++) { memset(v[i], 0, sizeof v[i]); v[i][0] = a[i % n]; }",
    "call": "for (int i = 0; i < n; i++) c[i] = mixed(a[i], b[i]);",
    "half words apart": "for (int i = 0; i < n; i++) raw[i].x = raw[i].x * 0.5 + a[i];",
    "long integers": "for (int i = 0; i < n; i++) l[i] = l[i] % 1000 + k[i];",
    "copied long integers": "for (int i = 0; i < n; i++) l[i] = l[(i + 1) % n];",
    "global sum": "for (int i = 0; i < n; i++) total += a[i];",
    "from the step on": "for (int i = t; i < n; i++) c[i] = a[i] + b[i];",
    "until the step": "for (int i = 0; i + t < n; i++) c[i] = b[i] * 0.25;",
    "short in turn": "for (int i = 0; i < (t % 2 ? n : 3); i++) c[i] = b[i] + 1.0;",
    "strides in turn": "{ int s = 1 + t % 3; for (int i = 0; i < n / 3; i++) c[i * s] = a[i * s] * 0.5; }",
    "both ways": "{ int s = t % 2 ? -1 : 1, o = t % 2 ? n - 1 : 0; for (int i = 0; i < n; i++)"
    " c[o + s * i] = 0.5 * b[o + s * i]; }",
    "read before stored": "for (int i = 0; i + 1 < n; i++) { c[i] = 0.5 * b[i + 1]; b[i] = 0.5 * c[i + 1]; }",
    "partly copied": "{ memcpy(c + 2, a, 5 * sizeof *c); memcpy(c + 8, a + 3, 9 * sizeof *c);"
    " for (int i = 1; i < n; i++) q[i] = c[i] + 0.5 * c[i - 1]; }",
    "every second copied": "{ for (int i = 0; i < n; i += 2) c[i] = a[i];"
    " for (int i = 0; i < n; i++) q[i] = c[i] + 0.5; for (int i = 0; i < n; i++) c[i] = 0.5 * q[i]; }",
    "copied by stride": "{ for (int i = 0; i < n / 2; i++) c[i] = a[2 * i];"
    " for (int i = 0; i < n; i++) q[i] = c[n - 1 - i] * 2.0; }",
    "one value everywhere": "{ for (int i = 0; i < n; i++) c[i] = a[3];"
    " for (int i = 0; i < n; i++) q[i] = c[i] + b[i]; }",
    "condition in place": "for (int i = 0; i < n; i++) if (a[i] > 0.5) a[i] = a[i] * 0.5;",
    "condition on what follows": "for (int i = 0; i + 1 < n; i++) if (a[i + 1] > 0.25) a[i] = 0.5 *"
    " a[i + 1];",
    "condition on what was stored": "for (int i = 1; i < n; i++) if (a[i - 1] > 0.25) a[i] = 0.5 * a[i - 1] +"
    " 0.125;",
    "condition that may overlap": "{ const double *x = t % 2 ? a : c; for (int i = 0; i < n; i++)"
    " if (x[i] > 0.5) a[n - 1 - i] = 0.25 * x[i]; }",
    "condition that meets its stores": "{ const double *x = t % 2 ? a : c; for (int i = 0; i < n; i++)"
    " if (x[i] > 0.5) a[n / 2 + i / 2] = 1.15 - x[i]; }",
    "values in turn": "for (int i = 0; i < n; i++) a[i] = i % 3 ? 0.25 : (i + t / 2) & 1 ? 0.6 : 0.9;",
    "clipped": "for (int i = 0; i < n; i++) c[i] = fabs(a[i] - b[i]) < 0.25 ? 0.0 : a[i];",
    "clipped in place": "for (int i = 0; i < n; i++) { double x = a[i] + 0.125 * b[i];"
    " a[i] = fabs(x) < 0.5 ? 0.0 : x; }",
    "cells": "for (int i = 0; i < n; i++) c[(int)(fabs(a[i]) * 4.0) % n] += b[i];",
    "limited": "for (int i = 1; i < rows; i++) { double x = m[i][0] - m[i - 1][0];"
    " for (int j = 1; j < C; j++) if (w[i][j] > x) v[i][j] = 0.5 * w[i][j]; else v[i][j] = x; }",
    "local arrays": "for (int i = 0; i < rows; i++) { double s[C], z[3]; memset(z, 0, sizeof z); for (int j ="
    " 0; j < C; j++) s[j] = m[i][idx[j] % C]; for (int j = 0; j < C; j++) z[j % 3] += s[j] * s[0]; for (int j"
    " = 0; j < 3; j++) v[i][j] = z[j]; }",
    "copied to a local array": "for (int i = 0; i < rows; i++) { double s[C]; memcpy(s, m[i], sizeof s);"
    " if (s[1] > 0.5) s[idx[i] % C] = 0.5 * s[0]; for (int j = 0; j < C; j++) w[idx[i] % R][j] = s[j]; }",
    "scratch on the heap": "{ double *s = malloc(4 * sizeof *s); for (int i = 0; i < n; i++)"
    " { for (int j = 0; j < 4; j++) s[j] = a[(idx[i] + j) % n] * (j + 1);"
    " for (int j = 1; j < 4; j++) s[j] += s[j - 1]; c[idx[i]] = s[3]; } free(s); }",
    "fresh copies": "{ double *x = malloc(64 * sizeof *x); for (int i = 0; i < n; i++) x[i] = a[idx[i]];"
    " for (int i = 0; i < n; i++) b[i] = 0.5 * x[n - 1 - i]; free(x); }",
    "exchanged memory": "{ double *x = malloc(64 * sizeof *x), *y = malloc(64 * sizeof *y);"
    " for (int i = 0; i < n; i++) { x[i] = a[i]; y[i] = x[i] + b[i]; } for (int i = 0; i < n; i++)"
    " c[i] = x[i] + y[n - 1 - i]; free(t % 2 ? x : y); free(t % 2 ? y : x); }",
    "cleared indices": "for (int i = 0; i < rows; i++) { memset(&k[3 * i], 0, 2 * sizeof *k);"
    " c[abs(k[2 * i]) % n] += 1.0; }",
    "permuted": "for (int i = 0; i < n; i++) c[perm[i]] = 0.5 * a[i] + b[perm[n - 1 - i]];",
    "permuted rows": "for (int i = 0; i < rows; i++) { double s = 0.0;"
    " for (int j = begin[i]; j < begin[i + 1]; j++) s += a[j] * b[heap[j]]; c[i] = s; }",
    "permuted by a local array": "for (int i = 0; i < n; i++) if (local[i] != i) b[local[i]] = 0.25 * a[i];",
    "index changed at times": "if (t % 4 == 3) perm[t % n] = (perm[t % n] + 1) % n;",
    "index changed by a loop at times": "if (t % 6 == 5) for (int i = 0; i < n; i++)"
    " heap[i] = (heap[i] + t) % n;",
    "index copied at times": "if (t % 5 == 3) memcpy(t % 2 ? perm : heap, idx, n * sizeof *perm);",
    "index sorted at times": "if (t % 4 == 2) for (int i = 1; i < n; i++) for (int j = i; j > 0 && heap[j -"
    " 1] > heap[j]; j--) { int x = heap[j]; heap[j] = heap[j - 1]; heap[j - 1] = x; }",
    "index exchanged": "{ int *x = t % 5 == 4 ? perm : local; for (int i = 0; i < n; i++)"
    " x[i] = (x[i] + 2 * (t % 5 == 4)) % n; }",
    "index read from a text": 'if (t % 3 == 2) sscanf(t % 2 ? "1 0 3" : "1 0 2", "%d %d %d",'
    " &perm[0], &local[1], &heap[2]);",
    "index changed in a bit": "perm[n - 1] = perm[n - 1] % 4 ^ (t / 3 & 1);",
    "index written back": "{ memcpy(k, perm, sizeof perm); memset(perm, t, sizeof perm);"
    " memcpy(perm, k, sizeof perm); }",
    "row lengths changed": "begin[3] = t % 4 == 3 ? begin[2] : begin[4];",
    "rounds that update": "for (int i = 0; i < n; i++) c[perm[i]] += 0.5 * a[i];",
    "rounds in place": "for (int i = 0; i < n; i++) { a[i] = 0.5 * a[i] + b[heap[i]]; b[heap[i]] = a[i]"
    " * 0.25; }",
    "rounds with a local array": "for (int i = 0; i < n; i++) { int p2[2]; double s[2];"
    " p2[0] = perm[i]; p2[1] = (perm[i] + 1) % n; s[0] = a[i] * 0.5; s[1] = a[i] * 0.25 + b[i];"
    " for (int j = 0; j < 2; j++) c[p2[j]] += s[(j + perm[i]) & 1]; }",
    "rounds with positions": "for (int i = 0; i < n; i++) { int p3[3]; double s[3];"
    " int x = (int)(fabs(c[i]) * 2.0) % n; p3[0] = x; p3[1] = (x + 1) % n; p3[2] = (x * 3 + 1) % n;"
    " s[0] = c[i] * 0.5; s[1] = c[i] * 0.25; s[2] = s[0] * s[1];"
    " double z = 0.0; for (int j = 0; j < 3; j++) z += s[j] * b[p3[j]]; a[i] = z; }",
    "rounds of some length": "for (int i = 0; i < n; i++) { int m3 = (int)(fabs(b[i]) * 4.0) % 5;"
    " for (int j = 0; j < m3; j++) e[(m3 + j) % n] += 0.5 * a[i]; }",
    "rounds that look again": "for (int i = 0; i < n; i++) if (b[i] > 0.25)"
    " e[(int)(fabs(c[i]) * 4.0) % n] += 0.5 * a[i];",
    "rounds that read what is behind": "{ double s[4]; for (int i = 0; i < n; i++) { for (int j = 0; j < 4;"
    " j++) s[j] = a[(perm[i] + j) % n]; c[i] = s[perm[i] & 3] * 2.0; } d[0] = s[t & 3] + s[1]; }",
    "rounds with an array filled at times": "{ double s[2]; s[0] = b[0]; s[1] = b[1] * 0.5;"
    " for (int i = 0; i < n; i++) { if (heap[i] & 1) s[heap[i] / 2 & 1] = a[i] * 0.5;"
    " c[heap[i]] = s[i & 1] * s[0]; } d[1] = s[t & 1]; }",
    "rounds that copy": "for (int i = 0; i < n; i++) { if (perm[i] % 3 == 0) c[i] = a[perm[i]];"
    " else c[i] = 0.5 * a[perm[i]]; }",
    "rounds with a copied local array": "for (int i = 0; i < n; i++) { double s[2]; s[0] = a[i]; s[1] = b[i];"
    " c[perm[i]] = s[heap[i] & 1]; }",
    "rounds that may overlap": "{ const double *x = t % 3 ? a : c; for (int i = 0; i < n; i++)"
    " c[perm[i]] = 0.25 * x[i]; }",
    "fewer rounds at times": "for (int i = 0; i < n - t % 3; i++) c[perm[i]] += b[i];",
    "no rounds at times": "for (int i = 0; i < (t % 5 == 3 ? 0 : n); i++) b[perm[i]] = 0.5 * b[perm[i]]"
    " + a[i];",
    "rounds with branches": "for (int i = 0; i < n; i++) if (perm[i] & 1) { if (a[i] > 0.25) b[perm[i]] ="
    " a[i] * 0.5; else c[i] += 1.0; }",
    "rounds of a walk": "for (int i = 0, j = 0; i < n; i++) { j = (j + perm[i]) % n; c[j] += a[i]; }",
    "rounds with a scalar": "{ double s = b[t % n] + a[0]; for (int i = 0; i < n; i++) c[perm[i]] = s *"
    " a[i]; }",
    "rounds with an invariant": "{ double z = b[3] * a[0]; for (int i = 0; i < n; i++) { int p4[4]; double"
    " s[4]; int x = perm[i]; p4[0] = x; p4[1] = (x + 1) % n; p4[2] = (x + 5) % n; p4[3] = (x + 6) % n; s[0] ="
    " a[i] * z; s[1] = a[i] * 0.25; s[2] = s[0] * s[1]; s[3] = z - s[0]; for (int j = 0; j < 4; j++) e[p4[j]]"
    " += s[j] * z; } }",
    "rounds with invariants": "{ double z = b[3] * a[0] + 1.0, y = d[3], u = t & 1 ? y * z : b[5] * z; for"
    " (int i = 0; i < n; i++) { int p4[4]; double s[4]; int x = perm[i]; p4[0] = x; p4[1] = (x + 1) % n;"
    " p4[2] = (x + 5) % n; p4[3] = (x + 6) % n; s[0] = a[i] * z; s[1] = a[i] * y; s[2] = s[0] * s[1]; s[3] ="
    " z - s[0]; for (int j = 0; j < 4; j++) e[p4[j]] += s[j] * u; } }",
    "rounds with what others left": "{ double s[4]; int p4[4]; for (int i = 0; i < n; i++) { int x = perm[i];"
    " p4[0] = x; p4[1] = (x + 1) % n; p4[2] = (x + 5) % n; p4[3] = (x + 6) % n;"
    " s[0] = x & 1 ? a[i] * 0.5 : a[i] * last; s[1] = a[i] * 0.25; s[2] = s[0] * s[1]; s[3] = 1.0 - s[0];"
    " for (int j = 0; j < 4; j++) e[p4[j]] += s[j]; } last = s[t & 1] + 0.5; }",
    "value renewed": "d[3] = 0.5 * b[2] + b[4];",
    "rounds downwards": "for (int i = n - 1; i > 0; i--) e[perm[i]] += 0.5 * a[i] + b[i - 1];",
    "rounds with rows": "for (int i = 0; i < n; i++) for (int j = 0; j < rows + 3; j++)"
    " w[perm[i] % R][j] += 0.5 * m[i % R][j] + a[i];",
    "rounds with counted rows": "for (int i = 0; i < n; i++) { int x = perm[i] % R; k[x] += 1;"
    " for (int j = 0; j < C - zero; j++) v[x][j] += m[heap[i] % R][j]; }",
    "rounds with sums": "for (int i = 0; i < n; i++) { double s = 0.0;"
    " for (int j = 0; j < rows; j++) s += m[perm[i] % R][j] * a[j]; c[heap[i]] = s; }",
    "rounds with copied rows": "for (int i = 0; i < n; i++) for (int j = 0; j < rows + 2; j++)"
    " w[perm[i] % R][j] = m[heap[i] % R][j];",
    "rounds with rows copied at times": "for (int i = 0; i < n; i++) { int x = perm[i] % R; if (heap[i] == 2)"
    " for (int j = 0; j < rows + 3; j++) v[x][j] = m[x][j]; else for (int j = 0; j < rows + 3; j++)"
    " v[x][j] = 0.5 * m[x][j]; }",
    "rounds with sparse rows": "for (int i = 0; i < rows; i++) { double s = 0.0;"
    " for (int j = begin[i]; j < begin[i + 1]; j++) s += a[j] * b[perm[j]]; c[heap[i]] = s; }",
    "rounds with nests": "for (int i = 0; i < n; i++) for (int x = 0; x < rows; x++) { double s = 0.0;"
    " for (int j = 0; j < rows + 3; j++) s += w[x][j]; b[(perm[i] + x) % n] += 0.03125 * s; }",
    "rounds that gather": "for (int i = 0; i < n; i++) c[i] = 0.5 * a[perm[i]] + a[heap[i]] * b[i];",
    "rounds beside others": "for (int i = 0; i < n; i++) c[i] = 0.5 * b[perm[i]] + b[i];",
    "rounds that meet": "for (int i = 0; i < n; i++) { b[perm[i]] += 0.5 * c[heap[i]];"
    " b[heap[i]] = 0.25 * b[heap[i]] - a[i]; }",
    "rounds with floats": "for (int i = 0; i < n; i++) f[perm[i]] += 0.5f * g[heap[i]];",
    "rounds with short words": "for (int i = 0; i < n; i++) { h[perm[i]] += (short)(i + 1); f[i] ="
    " 0.5f * h[heap[i]]; }",
    "rounds with packed words": "for (int i = 0; i < n; i++) raw[perm[i]].x += a[i] * pts[heap[i]].v;",
    "rounds with weights": "for (int i = 0; i < n; i++) { int p4[4]; double s[4]; int x = perm[i]; p4[0] = x;"
    " p4[1] = (x + 1) % n; p4[2] = (x + 5) % n; p4[3] = (x + 6) % n; s[0] = a[i] * 0.5; s[1] = a[i] * 0.25;"
    " s[2] = s[0] * s[1]; s[3] = 1.0 - s[0]; for (int j = 0; j < 4; j++) e[p4[j]] += s[j]; }",
    "rounds with weighted sums": "for (int i = 0; i < n; i++) { int p4[4]; double s[4]; int x = perm[i];"
    " p4[0] = x; p4[1] = (x + 1) % n; p4[2] = (x + 5) % n; p4[3] = (x + 6) % n; s[0] = a[i] * 0.5; s[1] ="
    " a[i] * 0.25; s[2] = s[0] * s[1]; s[3] = 1.0 - s[0]; double z = 0.0, y = 0.0; for (int j = 0; j < 4;"
    " j++) { z += s[j] * b[p4[j]]; y += s[j] * big[p4[j]]; } a[i] -= 0.0625 * z; c[i] = 0.5 * a[i] + y; }",
    "permuted sum of some": "{ double s = 0.0; for (int i = 0; i < n; i++) if (perm[i] % 3 == 0)"
    " s += a[heap[i]]; d[0] = s; b[t % n] = s; }",
    "permuted sum of one": "{ double s = 0.0; for (int i = 0; i < n; i++) if (local[i] == 2) s += a[i];"
    " c[t % n] = s; c[0] = s; }",
    "permuted sum carried on": "{ double s = d[1] + t; for (int i = 0; i < n; i++)"
    " if (perm[i] & 1) s += b[perm[i]] * a[i]; else s *= 0.5; d[1] = s * 0.125; }",
    "permuted sums and stores": "{ double s = 0.0, z = a[t % n]; for (int i = 0; i < n; i++) {"
    " if (heap[i] & 1) s += a[i]; else z += c[i] * b[i]; c[perm[i]] = 0.5 * a[i]; } d[2] = s; d[3] = z; }",
    "permuted sum for each row": "for (int i = 0; i < rows; i++) { double s = 0.0; for (int j = 0; j < C;"
    " j++) if (perm[j] != i) s += m[i][j] * a[perm[j]]; if (s > 0.125 * t) c[i] = s; d[i % 4] = s; }",
    "conditional sum": "{ double s = 0.0; for (int i = 0; i < n; i++) if (a[i] > 0.5) s += b[i]; d[3] = s; }",
    "conditional sum of copies": "{ double s = 1.0; for (int i = 0; i < n; i++) if (k[i] % 2)"
    " s += p[i]; q[3] = s; q[4] = s; }",
    "little changed": "perm[t * 7 % n] = (perm[t * 7 % n] + t) % n;",
    "little changed elsewhere": "{ heap[t * 5 % n] = (heap[t * 5 % n] + 3) % n; a[t * 3 % n] = 0.25 *"
    " (t + 1); }",
    "two exchanged": "{ int x = perm[t % n]; perm[t % n] = perm[t * 11 % n]; perm[t * 11 % n] = x; }",
    "to and fro": "perm[t % 2 ? 5 : 9] ^= 1;",
    "all moved": "for (int i = 0; i < n; i++) c[i] = fabs(c[i]) + 0.03125 * (i % 5);",
    "search": "for (int i = 0; i < rows; i++) { int j = 0; while (j < C - 1 && m[i][j] < 0.75) j++;"
    " c[i % n] = m[i][j] + j; }",
    "table": "{ const double *x = table[t % 2]; for (int i = 1; i < n - 1; i++)"
    " b[i] = x[0] * a[i - 1] + x[i] * x[i + 1]; }",
    "sums of a table": "{ const double *x = table[t % 2]; for (int i = 0; i < rows; i++)"
    " { double s = x[63]; for (int j = 0; j < C; j++) s += x[j] * m[i][j]; c[i] = s; } }",
    "table copied": "{ double x[64]; memcpy(x, table[t % 2], sizeof x); for (int i = 0; i < n; i++)"
    " { a[i] = table[t % 2][i]; e[i] += a[i] * x[63 - i]; k[i] += x[i] > 0.5; } }",
}

_TEMPLATE = """\
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define R 7
#define C 11
struct point { double x, v; };
#pragma pack(push, 4)
struct packed { int tag; double x; };
#pragma pack(pop)
static double b[64], m[R][C], w[R][C], v[R][C], d[4], big[2000], total;
static float f[64], g[64];
static int k[64], idx[64], first[R + 1];
static short h[64];
static long l[64];
static int perm[64], begin[R + 1];
static struct point pts[64];
static struct packed raw[64];
static const double table[2][64] = {{0.25, 0.5, 2.0}, {1.5, 0.125, [63] = 3.0}};
__attribute__((noinline)) static double mixed(double x, double y) { return 0.5 * (x + y); }

int main(int argc, char **argv)
{
    (void)argv;
    int zero = argc - 1, n = zero + SIZE, rows = zero + R;
    double c[64];
    double last = 0.5;
    int local[64], *heap = malloc(64 * sizeof *heap);
    double *a = malloc(64 * sizeof *a), *e = calloc(64, sizeof *e), *p = b, *q = e;
    for (int i = 0; i < 64; i++) {
        a[i] = 0.0625 * (i * 7 % 13); b[i] = 1.0 / (i + 1); c[i] = 0.5 * i;
        f[i] = 0.5f * i; g[i] = 1.0f; k[i] = i; idx[i] = i * 5 % n; h[i] = (short)i; l[i] = 3 * i;
        pts[i].x = i; pts[i].v = 0.25; raw[i].tag = i; raw[i].x = 0.5 * i;
    }
    for (int i = 0; i < 2000; i++) big[i] = 0.001 * i;
    for (int i = 0; i <= R; i++) first[i] = i * (n / (R + 1));
    for (int i = 0; i < R; i++) for (int j = 0; j < C; j++) { m[i][j] = i + 0.1 * j; w[i][j] = 0.01 * i * j; }
    for (int i = 0; i < 64; i++) { perm[i] = i * 3 % n; heap[i] = n - 1 - i % n; local[i] = (i * 7 + 1) % n; }
    for (int i = 0; i <= R; i++) begin[i] = i * (n / (R + 1));
    for (int t = 0; t < STEPS; t++) {
BODY
    }
    double sum = total + p[1] + q[2] + last;
    for (int i = 0; i < 64; i++) sum += a[i] + b[i] + c[i] + e[i] + f[i] + g[i] + k[i] + h[i] + l[i] + idx[i];
    for (int i = 0; i < 64; i++) sum += perm[i] + heap[i] * 2 + local[i] * 3;
    for (int i = 0; i < 64; i++) sum += pts[i].x + raw[i].x;
    for (int i = 0; i < R; i++) for (int j = 0; j < C; j++) sum += m[i][j] + w[i][j] + v[i][j];
    printf("%.9e %.9e %.9e %.9e %.9e\\n", sum, d[0], d[1], d[2], d[3]);
    free(a); free(e); free(heap);
    return 0;
}
"""


def loop_program(names: list[str], size: int, steps: int) -> str:
    """The program that does these loops in every time step."""
    body = "\n".join(f"        {LOOPS[name]}" for name in names)
    return _TEMPLATE.replace("BODY", body).replace("SIZE", str(size)).replace("STEPS", str(steps))


@st.composite
def loop_programs(draw: st.DrawFn) -> str:
    """C11 programs that repeat some of :data:`LOOPS`."""
    names = draw(st.lists(st.sampled_from(sorted(LOOPS)), min_size=1, max_size=5))
    return loop_program(names, pick(draw, (5, 16, 40)), draw(st.integers(2, 5)))


@st.composite
def nest_programs(draw: st.DrawFn) -> str:
    """Loops around sums, which see copies at times."""
    names = sorted(LOOPS)
    sums = draw(st.permutations([n for n in names if "sum" in n or "product" in n]))
    others = draw(st.lists(st.sampled_from([*names, "row copied", "plane back"]), max_size=2))
    mixed = draw(st.permutations([*sums[: draw(st.integers(1, 4))], *others]))
    return loop_program(mixed, pick(draw, (5, 16, 40)), draw(st.integers(2, 5)))


@st.composite
def index_programs(draw: st.DrawFn) -> str:
    """Loops over arrays of indices that stay as they are for some time steps, and then change in some way."""
    names = sorted(LOOPS)
    loops = draw(st.permutations([n for n in names if n.startswith("permuted")]))
    changes = draw(st.lists(st.sampled_from([n for n in names if n.startswith(("index", "row lengths"))])))
    others = draw(st.lists(st.sampled_from(names), max_size=2))
    mixed = draw(st.permutations([*loops[: draw(st.integers(1, 3))], *changes[:4], *others]))
    return loop_program(mixed, pick(draw, (5, 16, 40)), draw(st.integers(4, 12)))


@st.composite
def round_programs(draw: st.DrawFn) -> str:
    """Loops of which few rounds do something else than in the time step before."""
    names = sorted(LOOPS)
    loops = draw(st.permutations([n for n in names if "rounds" in n and n != "no rounds"]))
    changes = ["little changed", "little changed elsewhere", "two exchanged", "to and fro", "all moved"]
    others = draw(st.lists(st.sampled_from(names), max_size=1))
    changed = draw(st.lists(st.sampled_from(changes), min_size=1, max_size=2))
    mixed = draw(st.permutations([*loops[: draw(st.integers(1, 3))], *changed, *others]))
    return loop_program(mixed, pick(draw, (16, 40, 63)), draw(st.integers(5, 14)))
