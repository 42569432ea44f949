"""A vocabulary of a million names: from a key to the list of names that fit in under 100 ms."""

import random

import pytest
from playwright.sync_api import expect

from labelwood.tagger.tagger import Tagger

pytestmark = pytest.mark.slow  # half a minute of making the model
N_NAMES = 1_000_000
QUESTIONS = ("kalo bra", "tasura", "no such name", "99999")
# From the key event to the frame in which the list for the text of the input is shown.
MEASURE = """() => {
    const list = document.querySelector(".found"), input = document.querySelector(".search input");
    window.times = [];
    let pressed = 0;
    input.addEventListener("keydown", (event) => { pressed = event.timeStamp; }, true);
    new MutationObserver(() => {
        if (list.dataset.query !== input.value.trim()) return;
        const began = pressed;
        requestAnimationFrame(() => setTimeout(() => window.times.push(performance.now() - began)));
    }).observe(list, { childList: true });
}"""


@pytest.fixture(scope="module")
def million(tmp_path_factory):
    folder = tmp_path_factory.mktemp("million")
    random_words = random.Random(0)
    parts = ["ka", "lo", "mi", "ren", "tas", "vor", "el", "din", "quo", "shi", "bra", "nel", "to", "ura", "pex"]
    words = ["".join(random_words.choices(parts, k=random_words.randint(2, 4))) for _ in range(20_000)]
    names = [f"{words[n % 20_000]} {words[n * 7919 % 20_000]} {n}" for n in range(N_NAMES)]
    texts = [f"text {row}" for row in range(1000)]
    labels = [names[row * 1000 : (row + 1) * 1000] for row in range(1000)]
    Tagger("popular").fit(texts, labels).save(folder / "names")
    return folder


def test_from_key_to_list_in_under_a_tenth_of_a_second(pages, million, serve, capsys):
    with serve(million, "names") as service:
        page = pages.open(url=service.url)
        box = page.locator(".search input")
        box.fill("ka")  # waits until the index is made
        expect(page.locator(".found [role=option]").first).to_be_visible(timeout=120_000)
        box.fill("")
        page.evaluate(MEASURE)
        rounds = [typed_times(page, box) for _ in range(3)]
    times = [min(of_key) for of_key in zip(*rounds, strict=True)]  # other work on the machine is not the page's
    middle, worst = sorted(times)[len(times) // 2], max(times)
    with capsys.disabled():
        print(f"\nkey to list, {N_NAMES:,} names, {len(times)} keys: median {middle:.0f} ms, slowest {worst:.0f} ms")  # noqa: T201
    assert worst < 100


def typed_times(page, box):
    """Milliseconds from each key of the questions to its list."""
    times = []
    for question in QUESTIONS:
        box.fill("")
        for letter in question:
            before = page.evaluate("window.times.length")
            box.press("Space" if letter == " " else letter)
            if letter == " ":  # the list for "kalo" stays that for "kalo "
                continue
            page.wait_for_function("before => window.times.length > before", arg=before)
            times.append(page.evaluate("window.times.at(-1)"))
    return times
