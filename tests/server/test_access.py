"""Tokens and the rate limit."""

import pytest

from labelwood.errors import DataError, LabelwoodError, ParamError
from labelwood.server.access import READ, WRITE, RateLimit, Tokens, read_tokens
from labelwood.server.settings import Limits, Settings, named_folders


def test_a_read_token_closes_everything_but_health(start, saved, both_tokens, reader, writer):
    service = start({"dishes": saved}, tokens=both_tokens)
    for method, path in (("POST", "/v1/predict"), ("GET", "/v1/model"), ("GET", "/metrics"), ("GET", "/v1/projects")):
        assert service.json(method, path)[0] == 401
    status, headers, _ = service.ask("GET", "/v1/model", headers={"Authorization": "Bearer wrong"})
    assert (status, headers["WWW-Authenticate"]) == (401, "Bearer")
    assert service.json("GET", "/v1/model", headers=reader)[0] == 200
    assert service.json("GET", "/v1/model", headers=writer)[0] == 200
    assert service.json("GET", "/healthz")[0] == 200
    assert service.json("GET", "/readyz")[0] == 200


def test_writing_needs_the_write_token(start, own_folder, both_tokens, reader, writer):
    service = start({"dishes": own_folder}, tokens=both_tokens, learn=True)
    body = {"texts": ["x"], "labels": [["soup"]]}
    assert service.json("POST", "/v1/learn", body)[0] == 401
    assert service.json("POST", "/v1/learn", body, headers=reader)[0] == 401
    assert service.json("POST", "/v1/learn", body, headers=writer)[0] == 202


def test_learning_is_off_unless_asked_for(start, own_folder, write_tokens, writer):
    service = start({"dishes": own_folder}, tokens=write_tokens)
    body = {"texts": ["x"], "labels": [["soup"]]}
    assert service.json("POST", "/v1/learn", body, headers=writer)[0] == 403
    assert service.json("POST", "/v1/projects/dishes/learn", [], headers=writer)[0] == 403
    with pytest.raises(ParamError, match="token for writing"):
        Settings({"dishes": own_folder}, learn=True)


def test_tokens():
    assert Tokens().allow(READ, "")
    assert not Tokens().allow(WRITE, "Bearer x")
    hashed = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"  # of "x"
    tokens = Tokens(write=(hashed,))
    assert tokens.allow(WRITE, "bearer x")
    for header in ("", "Bearer", "Bearer y", "Basic x", "x", f"Bearer {hashed}"):
        assert not tokens.allow(WRITE, header)


def test_a_tokens_file(tmp_path):
    path = tmp_path / "tokens"
    path.write_text("# ours\nread sha256:" + "a" * 64 + "\n\nwrite sha256:" + "b" * 64 + "\n")
    assert read_tokens(path) == Tokens(("a" * 64,), ("b" * 64,))
    path.write_text("write my-secret\n")
    with pytest.raises(DataError, match="line 1") as refused:
        read_tokens(path)
    assert "my-secret" not in str(refused.value)
    with pytest.raises(DataError, match="cannot be read"):
        read_tokens(tmp_path / "none")


def test_rate_limit():
    limit = RateLimit(2.0)
    assert [limit.wait("a", 0.0) for _ in range(5)] == [0, 0, 0, 0, 0.5]
    assert limit.wait("b", 0.0) == 0
    assert limit.wait("a", 0.5) == 0
    assert limit.wait("a", 0.5) > 0
    for number in range(20_000):
        limit.wait(str(number), 1.0)
    assert len(limit._buckets) == 10_000


def test_a_client_that_asks_too_often(start, saved):
    service = start({"dishes": saved}, limits=Limits(rate=1.0))
    answers = [service.ask("GET", "/v1/model") for _ in range(4)]
    assert [status for status, _, _ in answers] == [200, 200, 429, 429]
    assert answers[-1][1]["Retry-After"] == "1"
    assert service.ask("GET", "/healthz")[0] == 200


def test_named_folders(tmp_path):
    folders = named_folders([str(tmp_path / "recipes"), f"old={tmp_path / 'recipes'}"])
    assert folders == {"recipes": tmp_path / "recipes", "old": tmp_path / "recipes"}
    for bad in (["a/x", "b/x"], ["a b=x"], ["=x"], ["/"]):
        with pytest.raises(LabelwoodError):
            named_folders(bad)
