"""Programs that are not sequential are told so."""

from __future__ import annotations

import pytest

from commanalyzer.record import parallel_warnings
from tests.recorded import record_source


@pytest.mark.parametrize("name", ["pthread_create", "__kmpc_fork_call", "thrd_create"])
def test_threads_are_reported(name: str) -> None:
    (warning,) = parallel_warnings(frozenset({name, "puts"}))
    assert "starts threads" in warning
    assert "sequential" in warning


def test_processes_are_reported() -> None:
    assert parallel_warnings(frozenset({"fork"})) == [
        "the program starts other processes: what they do is not recorded"
    ]


def test_sequential_programs_are_not_warned() -> None:
    assert parallel_warnings(frozenset({"strdup"})) == []


def test_calls_that_start_threads_and_processes_are_counted_and_harmless() -> None:
    recorded = record_source("""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static double values[8];
static void *fill(void *from) { for (int i = 0; i < 8; i++) values[i] = i; return from; }
int main(void) {
    pthread_t thread;
    if (pthread_create(&thread, 0, fill, 0)) return 1;
    pthread_join(thread, 0);
    pid_t child = fork();
    if (child == 0) exit(values[3] == 3 ? 7 : 1);
    int status;
    waitpid(child, &status, 0);
    printf("%g %d\\n", values[5], WEXITSTATUS(status));
}
""")
    assert recorded.plain.stdout == b"5 7\n"
    assert recorded.traced.stdout == recorded.plain.stdout
    assert {"pthread_create", "fork"} <= set(recorded.plan.sites.externals)
