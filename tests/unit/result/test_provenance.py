import datetime
import platform

from commanalyzer.result.provenance import collect_provenance


def test_provenance() -> None:
    before = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
    origin = collect_provenance(compiler="clang 22", flags=["-O1"], input_hashes=[("a.c", "00")], seed=3)
    given = origin.compiler, origin.flags, origin.input_hashes, origin.seed
    assert given == ("clang 22", ("-O1",), (("a.c", "00"),), 3)
    assert origin.host_class.startswith(f"{platform.system()} {platform.machine()}")
    assert datetime.datetime.fromisoformat(origin.created) >= before
    assert len(origin.git_revision) in (0, 40)
