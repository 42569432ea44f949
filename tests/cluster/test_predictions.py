"""`predict --cluster`: the same answers as one machine, in the same order, from shards of either kind."""

import json

import pyarrow.parquet
import pytest

from labelwood.cli.main import run


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """A saved tagger, and rows to ask in one file and in three shards of each kind."""
    folder = tmp_path_factory.mktemp("shop")
    rows = folder / "all.jsonl"
    assert run(["data", "synth", str(rows), "--rows", "300", "--quiet"]) == 0
    assert run(["train", str(rows), "-o", str(folder / "model"), "--quiet", "--threads", "1"]) == 0
    lines = rows.read_text(encoding="utf-8").splitlines(keepends=True)
    for kind in ("jsonl", "parquet"):
        (folder / kind).mkdir()
        for number in range(3):
            shard = folder / kind / f"rows{number}.{kind}"
            part = folder / "part.jsonl"
            part.write_text("".join(lines[number * 100 : (number + 1) * 100]), encoding="utf-8")
            assert run(["data", "convert", str(part), str(shard), "--force", "--quiet"]) == 0
    return folder


def rows_of(path):
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return pyarrow.parquet.read_table(path).to_pylist()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # those of Ray Data itself
@pytest.mark.parametrize("options", [[], ["-k", "3"]], ids=["assigned", "three best"])
@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_shards_get_the_answers_of_one_machine(cluster, shop, tmp_path, kind, options):
    model, alone, together = str(shop / "model"), tmp_path / f"alone.{kind}", tmp_path / "together"
    assert run(["predict", model, str(shop / "all.jsonl"), "--out", str(alone), "--quiet", *options]) == 0
    data = str(shop / kind)
    address = ["--cluster", cluster.address]
    assert run(["predict", model, data, "--out", str(together), "--quiet", *address, *options]) == 0
    shards = sorted(together.iterdir())
    assert shards[0].name == f"part-00000.{kind}"
    assert [row for shard in shards for row in rows_of(shard)] == rows_of(alone)
    assert {path.name for path in tmp_path.iterdir()} == {alone.name, together.name}  # nothing else was left behind


def test_what_a_cluster_cannot_do_is_said_in_one_line(cluster, shop, tmp_path, capfd):
    model, address = str(shop / "model"), ["--cluster", cluster.address]
    expected = {
        (str(shop / "all.jsonl"), "--reasons", "--out", str(tmp_path / "o")): "--cluster goes without --reasons",
        (str(shop / "all.jsonl"),): "--cluster writes a folder of shards: give it with --out",
        (str(shop / "model"), "--out", str(tmp_path / "o")): "here are neither",
        (str(shop / "none"), "--out", str(tmp_path / "o")): "there is no such file or folder",
    }
    for arguments, words in expected.items():
        assert run(["predict", model, *arguments, *address]) == 2
        error = capfd.readouterr().err
        assert words in error
        assert len(error.splitlines()) == 1
