"""Memory budgets: sizes as people write them, estimates from above, refusal before any work."""

import subprocess
import sys
from pathlib import Path

import pytest

import labelwood as lw
from labelwood.data.madeup.synthetic import make_sparse_pair
from labelwood.memory import memory_text, parse_memory
from labelwood.models.registry import model_class, model_names


@pytest.mark.parametrize(
    ("text", "size"),
    [("8G", 8 << 30), ("512M", 512 << 20), ("1.5g", 3 << 29), ("64KB", 64 << 10), ("2 GiB", 2 << 30), ("1000", 1000)],
)
def test_sizes_are_read(text, size):
    assert parse_memory(text) == size


@pytest.mark.parametrize("text", ["", "G", "8X", "-1G", "0", "8 G G", "1e9"])
def test_other_texts_are_refused(text):
    with pytest.raises(lw.ParamError, match="such as 8G"):
        parse_memory(text)


def test_sizes_are_written():
    assert [memory_text(n) for n in (12, 2048, 3 << 20, 3 << 29)] == ["12 bytes", "2 KB", "3 MB", "1.5 GB"]


@pytest.mark.parametrize("name", model_names())
def test_a_budget_below_the_estimate_refuses_and_one_above_trains(name):
    data = make_sparse_pair(200, 1, 300, 40, nnz_per_row=20)[0]
    model = model_class(name)()
    needed = model.estimate_memory(data.x, data.y)
    with pytest.raises(lw.BudgetError, match=r"would need about .* but 1 bytes are allowed"):
        model.fit(data, memory=1)
    assert not hasattr(model, "n_labels_")
    assert model.fit(data, memory=needed).n_labels_ == 40


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="the peak of training alone needs Linux's /proc")
@pytest.mark.parametrize("name", ["one-vs-all", "linear-tree"])
def test_the_estimate_is_above_the_measured_peak_but_not_far(name):
    script = f"""
from pathlib import Path
from labelwood.data.madeup.synthetic import make_sparse_pair
from labelwood.models.registry import model_class
data = make_sparse_pair(20000, 1, 20000, 3000, nnz_per_row=80)[0]
model = model_class({name!r})(max_passes=2, n_threads=2)
needed = model.estimate_memory(data.x, data.y)
def peak():
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024
Path("/proc/self/clear_refs").write_text("5")  # forget what reading and estimating took
before = peak()
model.fit(data)
print(needed, peak() - before)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    needed, peak = map(int, done.stdout.split())
    assert peak <= needed
    assert needed <= 6 * max(peak, 20_000_000)
