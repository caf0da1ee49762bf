"""What goes wrong goes wrong well: a clear message, the documented exit code, nothing left behind."""

import json
import re
import resource
import signal
import subprocess
import time
from pathlib import Path

import psutil
import pytest

from tests.e2e.command import HEAT, commanalyzer, leftovers, surroundings, words
from tests.native import NativeRun, run

LOOP = "for (int i = 1; i < 8; i++) u[i] = u[i-1] * 2 + u[0];"
MAIN = "double u[8]; int main(void) {"


def check_failure(folder: Path, arguments: list[object], status: int, *texts: str) -> None:
    done = commanalyzer(folder, "analyze", *arguments[:1], "--nodes", 2, "-o", "r.cmz", *arguments[1:])
    assert done.status == status, done.err
    for text in texts:
        assert text in done.err
    assert "Traceback" not in done.err
    assert not (folder / "r.cmz").exists()
    assert leftovers(folder) == []


@pytest.mark.parametrize(
    ("name", "content", "texts"),
    [
        ("empty.c", b"", ["empty.c", "empty file"]),
        ("broken.ll", b"define i32 @main() {\n  %a = add i32 1,\n}\n", ["broken.ll"]),
        ("syntax.c", b"int main(void) { return 0 }\n", ["syntax.c", "expected ';'"]),
        ("nomain.c", b"int f(void) { return 0; }\n", ["main"]),
        ("program.txt", b"int main(void) { return 0; }\n", ["program.txt"]),
        ("undefined.c", b"int g(void); int main(void) { return g(); }\n", ["g"]),
    ],
)
def test_bad_files(tmp_path: Path, name: str, content: bytes, texts: list[str]) -> None:
    (tmp_path / name).write_bytes(content)
    check_failure(tmp_path, [name], 1, "error: ", *texts)


@pytest.mark.parametrize(
    ("body", "options", "texts"),
    [
        ("volatile int *p = 0; return *p;", "", ["SIGSEGV"]),
        ("__builtin_trap();", "", ["ended by signal"]),
        ("abort();", "", ["SIGABRT"]),
        ("for (;;) counter++;", "--timeout 0.5", ["0.5 s", "--timeout"]),
        (
            "for (;;) { char *p = malloc(1 << 20); if (p) memset(p, 1, 1 << 20); keep = p; }",
            "--memory-limit 150MB --timeout 60",
            ["150 MB", "--memory-limit"],
        ),
    ],
    ids=["segfault", "trap", "abort", "hang", "memory"],
)
def test_programs_that_do_not_end_well(tmp_path: Path, body: str, options: str, texts: list[str]) -> None:
    head = "#include <stdlib.h>\n#include <string.h>\nvolatile long counter; char *volatile keep;\n"
    (tmp_path / "p.c").write_text(f"{head}int main(void) {{ {body} }}\n")
    check_failure(tmp_path, ["p.c", *options.split()], 3, "error: p.c: ", *texts, "hint: ")


def test_threads_are_refused(tmp_path: Path) -> None:
    (tmp_path / "p.c").write_text(
        f"#include <pthread.h>\ndouble u[8];\nstatic void *work(void *p) {{ {LOOP} return p; }}\n"
        "int main(void) { pthread_t t; pthread_create(&t, 0, work, 0); return pthread_join(t, 0); }\n"
    )
    check_failure(tmp_path, ["p.c"], 3, "sequential", "pthread_create (1x)", "hint: ")


@pytest.mark.parametrize(
    ("includes", "body", "status"),
    [("", f"{LOOP} return 3;", 3), ("#include <unistd.h>", f"close(1); close(2); {LOOP} return 0;", 0)],
    ids=["status", "closed"],
)
def test_endings_that_may_be_no_failures(tmp_path: Path, includes: str, body: str, status: int) -> None:
    (tmp_path / "p.c").write_text(f"{includes}\n{MAIN} {body} }}\n")
    if status:
        refused = commanalyzer(tmp_path, "analyze", "p.c", "--nodes", 2, "-q")
        assert refused.status == 3 and f"the program ended with status {status}" in refused.err
        assert "--allow-failure" in refused.err
    allowed = ("--allow-failure",) if status else ()
    done = commanalyzer(tmp_path, "analyze", "p.c", "--nodes", 2, "--check", "-q", *allowed)
    assert done.status == 0, done.err
    assert (f"the program ended with status {status}" in done.out) == (status != 0)
    assert "exact" in done.out  # a decomposition was counted
    assert leftovers(tmp_path) == []


def test_other_processes_are_not_recorded(tmp_path: Path) -> None:
    (tmp_path / "p.c").write_text(
        f"#include <unistd.h>\n#include <sys/wait.h>\n{MAIN} int s; pid_t c = fork(); {LOOP}\n"
        "if (c) waitpid(c, &s, 0); return 0; }\n"
    )
    done = commanalyzer(tmp_path, "analyze", "p.c", "--nodes", 2)
    assert done.status == 0, done.err
    said = " ".join(done.out.split())
    assert "other processes (fork): they were not recorded, so what they compute and send is missing" in said
    assert "--library-model" not in said and "waitpid" not in said
    assert leftovers(tmp_path) == []


def with_little_room(folder: Path, bytes_: int, *arguments: object) -> NativeRun:
    """Run a command that can write no file larger than ``bytes_``; it keeps no half of a result."""

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_, bytes_))

    done = run(*words(*arguments), cwd=folder, env=surroundings(folder), preexec_fn=limit)
    assert not (folder / "r.cmz").exists()
    assert leftovers(folder) == []
    return done


BIG = """
#include <stdlib.h>
int main(void) {
    int n = 6000;
    double *u = malloc(8L * n);
    for (int i = 0; i < n; i++) u[i] = i;
    for (int i = 2; i < n; i++) u[i] = u[i * 7919L % n] * 0.5 + u[i - 1] + u[i - 2];
    return 0;
}
"""


@pytest.mark.parametrize("room", [100_000, 20_000], ids=["trace", "small trace"])
def test_full_disk_while_recording(tmp_path: Path, room: int) -> None:
    (tmp_path / "p.c").write_text(BIG)
    assert commanalyzer(tmp_path, "analyze", "p.c", "--nodes", 2, "-q").status == 0, "compiled and cached"
    done = with_little_room(tmp_path, room, "analyze", "p.c", "--nodes", 2, "-o", "r.cmz")
    assert done.status in (1, 3), done.stderr
    assert "error: " in done.stderr and "hint: " in done.stderr
    assert "Traceback" not in done.stderr


def test_full_disk_while_saving(tmp_path: Path) -> None:
    (tmp_path / "p.c").write_text(BIG)
    assert commanalyzer(tmp_path, "analyze", "p.c", "--nodes", 2, "-q", "-o", "whole.cmz").status == 0
    done = with_little_room(tmp_path, 10_000, "partition", "whole.cmz", "--nodes", 4, "-o", "r.cmz", "-q")
    assert done.status == 1, done.stderr
    assert "error: r.cmz: the file cannot be written" in done.stderr


def test_full_device_for_the_document(tmp_path: Path) -> None:
    (tmp_path / "p.c").write_text(f"{MAIN} {LOOP} return 0; }}\n")
    assert commanalyzer(tmp_path, "analyze", "p.c", "--nodes", 2, "-q", "-o", "r.cmz").status == 0
    done = commanalyzer(tmp_path, "show", "r.cmz", "-q", "--json", "/dev/full")
    assert done.status == 1, done.err
    assert "error: /dev/full: the file cannot be written" in done.err
    shell = ["/bin/sh", "-c", 'exec "$@" > /dev/full', "sh"]
    done = commanalyzer(tmp_path, "show", "r.cmz", "-q", "--json", "-", before=shell)
    assert done.status == 1, done.err
    assert "Traceback" not in done.err
    assert "No space left" in done.err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_while_the_program_runs(tmp_path: Path, number: signal.Signals) -> None:
    (tmp_path / "p.c").write_text(
        "#include <stdio.h>\nvolatile double x; int main(int n, char **v) {\n"
        'FILE *f = fopen(v[1], "w"); fclose(f); for (;;) x = x + 1; }\n'
    )
    started = tmp_path / "started"
    process = subprocess.Popen(
        words("analyze", "p.c", "--nodes", 2, "-o", "r.cmz", "--timeout", 1200, "--", started),
        cwd=tmp_path,
        env=surroundings(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 600
    while not started.exists() and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.05)
    children = psutil.Process(process.pid).children(recursive=True)
    assert children
    process.send_signal(number)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 130, err
    assert "interrupted" in err
    assert "Traceback" not in err
    assert not (tmp_path / "r.cmz").exists()
    assert leftovers(tmp_path) == []
    _, alive = psutil.wait_procs(children, timeout=300)
    assert alive == []


@pytest.mark.parametrize(
    ("body", "options", "said"),
    [
        # all in registers
        (
            "long n = 27; int k = 0; while (n != 1) { n = n & 1 ? 3 * n + 1 : n / 2; k++; } return k != 111;",
            (),
            "the program stores no values (what stays in registers is not divided)",
        ),
        ("if (argc > 5) other(); return 0;", ("--region", "other"), "the region was never entered"),
        ("other(); return 0;", ("--region", "other"), "the region stores no values"),
    ],
)
@pytest.mark.parametrize("model", ["volume", "hpdc18"])
def test_nothing_to_divide_is_no_failure(
    tmp_path: Path, body: str, options: tuple[str, ...], said: str, model: str
) -> None:
    (tmp_path / "p.c").write_text(
        '__attribute__((noinline)) void other(void) { __asm__ volatile(""); }\n'
        f"int main(int argc, char **argv) {{ {body} }}\n"
    )
    arguments = ("--nodes", "2,16", "--model", model, "--check", *options, "-o", "r.cmz", "--json", "r.json")
    done = commanalyzer(tmp_path, "analyze", "p.c", *arguments)
    assert done.status == 0, done.err
    assert f"nothing was recorded: {said}" in done.out
    found = json.loads((tmp_path / "r.json").read_text())["decompositions"]
    assert [d["nodes"] for d in found] == [2, 16]
    assert {(d["comm_bytes"], d["efficiency_bound"]) for d in found} == {(0, None)}
    assert commanalyzer(tmp_path, "report", "r.cmz", "-o", "r.html").status == 0


def test_fewer_values_than_nodes(tmp_path: Path) -> None:
    (tmp_path / "p.c").write_text(
        "double a[3] = {1, 2, 3};\nint main(void) { for (int t = 0; t < 5; t++) "
        "for (int i = 0; i < 3; i++) a[i] = a[(i + 1) % 3] * 0.5; return a[0] > 9; }\n"
    )
    done = commanalyzer(tmp_path, "analyze", "p.c", "--nodes", "64")
    assert done.status == 1
    assert re.search(r"cannot divide (\d+) values among 64 parts \(\1 found\)", done.err)


def test_too_many_nodes(tmp_path: Path) -> None:
    done = commanalyzer(tmp_path, "analyze", HEAT, "--nodes", "100000", "--", 3, 1)
    assert done.status == 1, done.err
    assert "hint: use fewer nodes" in done.err
