"""Languages, tokens for reading, axe, and how the views look on a desk and on a phone, light and dark.

LABELWOOD_PICTURES=docs/pictures writes the pictures of the documentation.
"""

import csv
import hashlib
import os
import re
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True}
LOOKS = {
    "desktop-light": {},
    "desktop-dark": {"color_scheme": "dark"},
    "phone-light": PHONE,
    "phone-dark": PHONE | {"color_scheme": "dark", "locale": "de-DE"},
}
WHOLE = ("desktop-light", "phone-dark")
KEPT = {
    ("tag", "desktop-light"),
    ("tag", "phone-light"),
    ("review", "desktop-dark"),
    ("tree", "phone-dark"),
    ("model", "desktop-light"),
}


@pytest.mark.parametrize("look", LOOKS)
def test_no_view_has_barriers_or_runs_out_of_its_width(pages, rows, names, text, tmp_path, look):
    page = pages.open(**LOOKS[look])
    page.fill("#text", text)
    expect(page.locator(".tag").first).to_be_visible()
    page.focus("#text")
    page.keyboard.press("Escape")
    page.keyboard.press("ArrowDown")
    expect(page.locator(".backdrop mark").first).to_be_visible()
    check(page, "tag", look)
    page.locator(".search input").fill("pl")
    expect(page.locator(".found [role=option]").first).to_be_visible()
    check(page, "search", look)

    page.locator("#views a").nth(2).click()
    expect(page.locator("[role=treeitem][aria-expanded=true]")).to_have_count(2)
    check(page, "tree", look)

    page.locator("#views a").nth(1).click()
    check(page, "upload", look)
    page.set_input_files("#table-file", written_table(rows, names, tmp_path))
    expect(page.locator("#start")).to_be_visible()
    check(page, "columns", look)
    page.click("#start")
    expect(page.locator(".tag:visible").first).to_be_focused()
    page.keyboard.press("r")
    page.keyboard.press("Enter")
    expect(page.locator("#row-text mark").first).to_be_visible()
    check(page, "review", look)

    page.locator("#views a").nth(3).click()
    page.click("#measure")
    expect(page.locator(".measured .cards")).to_be_visible()
    check(page, "model", look)
    page.click("#open-token")
    check(page, "token", look)


def written_table(rows, names, tmp_path):
    path = tmp_path / "shop.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "labels"])
        pairs = zip(list(rows.texts)[1200:], names[1200:], strict=True)
        writer.writerows([text, "|".join(tags)] for text, tags in pairs)
    return path


def check(page, view, look):
    page.evaluate("scrollTo(0, 0)")
    page.wait_for_timeout(60)  # a reason that is under way
    folder = os.environ.get("LABELWOOD_PICTURES")
    if folder and ((view, look) in KEPT or folder != "docs/pictures"):
        page.screenshot(path=Path(folder) / f"page-{view}-{look}.png")
    width = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert width[0] <= width[1], f"{view} on {look} is {width[0]} pixels wide"
    if look not in WHOLE and view not in ("tag", "review", "model"):  # the small dialogs need no four looks
        return
    found = Axe().run(page).response["violations"]
    told = [(entry["id"], entry["impact"], [node["target"] for node in entry["nodes"]][:3]) for entry in found]
    assert told == [], f"{view} on {look}"


def test_the_page_speaks_the_language_of_the_browser_and_the_one_chosen(pages, text):
    page = pages.open(locale="de-AT")
    expect(page.get_by_role("heading", level=1)).to_have_text("Einen Text taggen")
    page.fill("#text", text)
    expect(page.locator(".tag").first).to_have_attribute("aria-label", re.compile(r"^kitchen, \d\d\s%, vergeben$"))
    page.select_option("#language", "en")
    expect(page.get_by_role("heading", level=1)).to_have_text("Tag a text")
    assert page.evaluate("document.documentElement.lang") == "en"
    expect(page.locator("#text")).to_have_value(text)
    expect(page.locator(".tag").first).to_have_attribute("aria-label", re.compile(r"^kitchen, \d\d%, assigned$"))
    page.reload()
    expect(page.get_by_role("heading", level=1)).to_have_text("Tag a text")


def test_both_languages_have_the_same_texts_with_the_same_gaps(page):
    english, german = page.evaluate(
        "async () => [(await import('/words_en.js')).EN, (await import('/words_de.js')).DE]"
    )
    assert english.keys() == german.keys()
    for key, sentence in english.items():
        assert sorted(re.findall(r"\{\w+\}", sentence)) == sorted(re.findall(r"\{\w+\}", german[key])), key


def test_a_service_that_asks_for_a_token_to_read(pages, folders, serve, token, tmp_path):
    tokens = tmp_path / "tokens.txt"
    tokens.write_text(f"read sha256:{hashlib.sha256(token.encode()).hexdigest()}\n")
    with serve(folders, "plain", options=("--tokens", str(tokens))) as closed:
        page = pages.open(url=closed.url)
        expect(page.get_by_role("dialog", name="Access token")).to_be_visible()
        page.keyboard.press("Escape")
        page.click("#open-token")
        page.get_by_role("button", name="Cancel").click()
        page.click("#open-token")
        page.get_by_label("Token", exact=True).fill(token)
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", level=1)).to_have_text("Tag a text")
        expect(page.get_by_role("button", name="Send as correction")).to_have_count(0)
        expect(page.locator("#model-choice")).to_be_hidden()
    assert pages.faults.pop().startswith("Failed to load resource: the server responded with a status of 401")


def test_skipping_to_the_content_stays_in_the_view(pages):
    page = pages.open("model")
    expect(page.get_by_role("heading", level=1)).to_have_text("Model card")
    page.locator(".skip").press("Enter")
    expect(page.locator("main")).to_be_focused()
    expect(page.get_by_role("heading", level=1)).to_have_text("Model card")


def test_keyboard_alone_reaches_everything(typed):
    typed.evaluate("document.activeElement.blur()")
    seen = []
    for _ in range(22):
        typed.keyboard.press("Tab")
        seen.append(typed.evaluate("document.activeElement.id || document.activeElement.textContent.trim()"))
    ids = {"language", "open-token", "text", "send"}
    assert ids | {"Skip to the content", "Tag", "Model", "Open a file", "Clear", "Copy tags"} <= set(seen)
    assert typed.locator(".search input").get_attribute("id") in seen
