"""Tagging a text: tags while typing, reasons, decisions by keyboard, missing tags, corrections."""

import json
import re
import time

import pytest
from playwright.sync_api import expect


def tag(page, name):
    return page.locator(f".tag[data-name='{name}']")


def entry(page, name):
    return page.locator("li", has=tag(page, name))


def test_tags_appear_with_probabilities_and_what_is_assigned(page):
    page.locator("#text").press_sequentially("steel skillet for the oven", delay=20)
    best = page.locator(".tag").first
    expect(best).to_have_attribute("data-name", re.compile("kitchen|skillet"))
    expect(best).to_have_attribute("aria-label", re.compile(r", \d+%, assigned$"))
    expect(page.locator("li.out .tag").last).to_have_attribute("aria-label", re.compile("not assigned$"))
    shares = [int(share.rstrip("%").partition(".")[0]) for share in page.locator(".tag .share").all_inner_texts()]
    assert len(shares) == 10
    assert shares == sorted(shares, reverse=True)
    page.get_by_role("button", name="More").click()
    expect(page.locator(".tag")).to_have_count(40)


def test_the_newest_answer_wins(page):
    held = []
    page.route("**/v1/predict", lambda route: held.append(route))
    page.fill("#text", "cat toy")
    wait_for(page, lambda: len(held) == 1)
    page.fill("#text", "steel skillet")
    wait_for(page, lambda: len(held) == 2)
    held[1].continue_()
    expect(tag(page, "skillet")).to_be_visible()
    assert held[0].request.failure == "net::ERR_ABORTED"
    page.unroute("**/v1/predict")


def wait_for(page, condition):
    until = time.monotonic() + 10
    while not condition() and time.monotonic() < until:
        page.wait_for_timeout(20)
    assert condition()


def test_a_text_without_known_words_and_an_empty_one(typed):
    typed.fill("#text", "")
    expect(typed.locator(".tag")).to_have_count(0)
    expect(typed.locator(".why")).to_contain_text("Tags appear here")
    expect(typed.get_by_role("button", name="Copy tags")).to_be_disabled()


def test_a_file_is_opened_or_dropped(page, tmp_path):
    (tmp_path / "note.txt").write_bytes("Bräter für Schmorgerichte".encode("cp1252"))
    page.set_input_files("#text-file", tmp_path / "note.txt")
    expect(page.locator("#text")).to_have_value("Bräter für Schmorgerichte")
    page.evaluate(
        """() => {
        const data = new DataTransfer();
        data.items.add(new File(["steel skillet"], "other.txt", {type: "text/plain"}));
        document.querySelector(".editor").dispatchEvent(new DragEvent("drop", {dataTransfer: data, bubbles: true}));
    }"""
    )
    expect(page.locator("#text")).to_have_value("steel skillet")
    expect(tag(page, "skillet")).to_be_visible()


def test_a_dropped_table_goes_to_the_review(page):
    expect(page.locator(".editor")).to_be_visible()
    page.evaluate(
        """() => {
        const data = new DataTransfer();
        data.items.add(new File(["text\\nsteel skillet\\n"], "rows.csv"));
        document.querySelector(".editor").dispatchEvent(new DragEvent("drop", {dataTransfer: data, bubbles: true}));
    }"""
    )
    expect(page.get_by_role("heading", name="rows.csv")).to_be_visible()


def test_the_reason_is_marked_under_the_pointer_and_under_the_focus(typed, text):
    tag(typed, "slow cooking").hover()
    expect(typed.locator(".why h2")).to_have_text("Why slow cooking?")
    marks = typed.locator(".backdrop mark.for")
    expect(marks.filter(has_text="simmer")).to_have_count(1)
    expect(typed.locator(".backdrop")).to_have_text(text, use_inner_text=True)

    typed.mouse.move(0, 0)
    typed.focus("#text")
    typed.keyboard.press("Escape")  # from the text to its tags
    expect(tag(typed, "slow cooking")).to_be_focused()
    typed.keyboard.press("Home")
    expect(tag(typed, "kitchen")).to_be_focused()
    expect(typed.locator(".why h2")).to_have_text("Why kitchen?")
    first = typed.locator(".pushes li").first
    expect(first).to_contain_text(re.compile(r"speaks for it .*\+\d\.\d\d"))


def test_phrases_are_marked_as_a_whole(page):
    places = page.evaluate(
        """async () => (await import("/highlight.js")).places("Cast iron pan, iron.",
            [{word: "cast iron", push: 1}, {word: "iron", push: -0.5}, {word: "pan", push: 0.2}])"""
    )
    assert [(place["start"], place["end"], place["push"]) for place in places] == [
        (0, 9, 1),
        (10, 13, 0.2),
        (15, 19, -0.5),
    ]


def test_accept_reject_and_undo_by_keyboard(typed):
    typed.focus("#text")
    typed.keyboard.press("Control+Enter")
    expect(tag(typed, "kitchen")).to_be_focused()
    typed.keyboard.press("r")
    expect(tag(typed, "kitchen")).to_have_attribute("aria-label", re.compile("rejected$"))
    expect(tag(typed, "kitchen")).to_be_focused()
    typed.keyboard.press("End")
    last = typed.locator(".tag").last
    name = last.get_attribute("data-name")
    expect(last).to_be_focused()
    typed.keyboard.press("a")
    expect(last).to_have_attribute("aria-label", re.compile("accepted$"))
    typed.get_by_role("button", name="Copy tags").click()
    copied = typed.evaluate("navigator.clipboard.readText()").split("; ")
    assert name in copied
    assert "kitchen" not in copied
    last.focus()
    typed.keyboard.press("z")
    typed.keyboard.press("z")
    expect(last).to_have_attribute("aria-label", re.compile("not assigned$"))
    expect(tag(typed, "kitchen")).to_have_attribute("aria-label", re.compile(", assigned$"))
    expect(typed.locator("#said")).to_have_text("Taken back.")


def test_accept_and_reject_by_pointer(typed):
    typed.get_by_role("button", name="Reject kitchen").click()
    expect(entry(typed, "kitchen")).to_have_class("out decided")
    typed.get_by_role("button", name="Accept kitchen").click()
    expect(entry(typed, "kitchen")).to_have_class("in decided")


def test_a_missing_tag_is_searched_and_added_by_keyboard(typed):
    tag(typed, "kitchen").focus()
    typed.keyboard.press("/")
    box = typed.get_by_role("combobox", name="Add a missing tag")
    expect(box).to_be_focused()
    typed.keyboard.type("play")
    options = typed.locator(".found [role=option]")
    expect(options.first).to_contain_text("playtime")
    expect(options.first.locator("b")).to_have_text("play")
    expect(options.last).to_have_text("Add “play” as a new tag")
    expect(box).to_have_attribute("aria-expanded", "true")
    typed.keyboard.press("ArrowUp")
    expect(options.last).to_have_attribute("aria-selected", "true")
    typed.keyboard.press("ArrowDown")
    typed.keyboard.press("Enter")
    expect(tag(typed, "playtime")).to_be_focused()
    expect(tag(typed, "playtime")).to_have_attribute("aria-label", "playtime, added")
    typed.keyboard.press("/")
    typed.keyboard.type("brand-new")
    expect(options).to_have_count(1)
    options.click()
    expect(tag(typed, "brand-new")).to_have_attribute("aria-label", "brand-new, added")
    expect(typed.locator(".why")).to_contain_text("No word of the text decides here.")


def test_a_correction_is_sent_with_the_token(pages, typed, text, service, token):
    typed.get_by_role("button", name="Reject kitchen").click()
    send = typed.get_by_role("button", name="Send as correction")
    send.click()
    dialog = typed.get_by_role("dialog", name="Access token")
    expect(dialog).to_be_visible()
    expect(typed.locator("#problem")).to_have_text("This service asks for a token.")
    assert pages.faults.pop().startswith("Failed to load resource: the server responded with a status of 401")
    typed.get_by_label("Token", exact=True).fill(token)
    typed.keyboard.press("Enter")
    expect(dialog).to_be_hidden()
    send.click()
    expect(typed.locator("#problem")).to_have_text("The correction is saved.")
    line = (service.folder / "shop.corrections.jsonl").read_text(encoding="utf-8").splitlines()[-1]
    kept = json.loads(line)
    assert kept["text"] == text
    assert "skillet" in kept["labels"]
    assert "kitchen" not in kept["labels"]
    stored = typed.evaluate("JSON.stringify({...localStorage}) + JSON.stringify({...sessionStorage}) + document.cookie")
    assert token not in stored


def test_a_model_without_probabilities_leaves_the_choice(typed):
    typed.select_option("#model-name", "plain")
    expect(typed.locator(".why")).to_contain_text("gives scores and leaves the choice to you")
    expect(typed.locator(".tag").first).to_have_attribute("aria-label", re.compile(r", \d\.\d\d$"))
    expect(typed.locator("li.in")).to_have_count(0)
    expect(typed.locator(".count").first).to_have_text("0 tags")


@pytest.mark.parametrize("view", ["tag", "review"])
def test_a_model_of_numbers_says_so(page, view):
    page.select_option("#model-name", "numbers")
    page.goto(f"{page.url.partition('#')[0]}#{view}")
    expect(page.locator(f"#{view}")).to_contain_text("takes columns of numbers, not texts")


def test_a_service_that_has_gone_is_told(pages, typed):
    typed.route("**/v1/predict", lambda route: route.abort())
    typed.fill("#text", "another text")
    expect(typed.locator("#problem")).to_have_text("The service does not answer. Is it still running?")
    pages.faults.clear()
