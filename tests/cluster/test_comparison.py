"""`compare --cluster`: the runs of a comparison on the nodes of a cluster, with the answers of one machine."""

import json

import pytest

from labelwood.cli.main import run


@pytest.mark.slow
def test_runs_on_a_cluster_answer_as_here_and_are_kept(cluster, tmp_path, capfd):
    rows = tmp_path / "rows.jsonl"
    assert run(["data", "synth", str(rows), "--rows", "300", "--labels", "40", "--quiet"]) == 0
    common = ["compare", str(rows), "--models", "popular,one-vs-all,broken=linear-tree", "--quiet"]
    common += ["--set", f"broken.tree={tmp_path / 'none.tsv'}"]
    assert run([*common, "--out", str(tmp_path / "here.html")]) == 0
    assert run([*common, "--out", str(tmp_path / "there.html"), "--cluster", cluster.address]) == 0
    here, there = (json.loads((tmp_path / f"{name}.json").read_text()) for name in ("here", "there"))
    assert here["models"] == there["models"]
    assert [one["status"] for one in there["runs"]] == ["done", "done", "failed"]
    assert "none.tsv" in there["runs"][2]["why"]
    folders = {path.name for path in (tmp_path / "there.html.runs").iterdir()}
    assert {path.name for path in (tmp_path / "here.html.runs").iterdir()} == folders
    capfd.readouterr()
    assert run([*common, "--out", str(tmp_path / "there.html"), "--force"]) == 0  # finished runs are used again, here
    assert [one["reused"] for one in json.loads((tmp_path / "there.json").read_text())["runs"]][:2] == [True, True]
