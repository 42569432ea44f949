"""The label tree and the model card."""

import csv
import re

import pytest
from playwright.sync_api import expect


def test_the_tree_opens_where_the_text_went(typed):
    typed.get_by_role("link", name="Tree").click()
    way = typed.locator("[role=treeitem][aria-expanded=true]")
    expect(way).to_have_count(2)
    leaf = way.last.locator("> ul > li").first
    expect(leaf).to_have_attribute("aria-label", re.compile(r"^(kitchen|skillet), \d+ rows, \d+%$"))
    expect(typed.locator("blockquote")).to_contain_text("Lakeview steel skillet")
    chances = [float(text.rstrip("%")) for text in way.last.locator("> ul > li .share").all_inner_texts()]
    assert chances == sorted(chances, reverse=True)
    typed.select_option("#tree-number", "1")
    expect(typed.locator("[role=treeitem][aria-expanded=true]").first).to_be_visible()


def test_the_tree_by_keyboard_and_without_a_text(pages):
    page = pages.open("tree")
    expect(page.locator("blockquote")).to_contain_text("Enter a text")
    items = page.locator("[role=treeitem]")
    expect(items).to_have_count(4)
    expect(items.locator(".share")).to_have_count(0)
    items.first.focus()
    page.keyboard.press("ArrowRight")
    expect(items).to_have_count(8)
    page.keyboard.press("ArrowRight")
    expect(items.nth(1)).to_be_focused()
    page.keyboard.press("Enter")
    expect(items.nth(1)).to_have_attribute("aria-expanded", "true")
    page.keyboard.press("ArrowLeft")
    expect(items.nth(1)).to_have_attribute("aria-expanded", "false")
    page.keyboard.press("ArrowLeft")
    expect(items.first).to_be_focused()
    page.keyboard.press("End")
    expect(items.last).to_be_focused()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowDown")
    expect(items.nth(1)).to_be_focused()
    items.nth(1).click()
    expect(items.nth(1)).to_have_attribute("aria-expanded", "true")


def test_a_model_without_a_tree_says_so(pages):
    page = pages.open("tree")
    page.select_option("#model-name", "plain")
    expect(page.locator("#tree")).to_contain_text("This model (one-vs-all) has no tree")


def test_the_card_shows_what_the_folder_knows(pages):
    page = pages.open("model")
    expect(page.locator("#model dd").first).to_have_text("linear-tree")
    expect(page.get_by_role("img", name="How many rows the tags have").locator("rect.fill")).not_to_have_count(0)
    expect(page.get_by_role("img", name="From score to probability").locator("path")).to_have_count(3)
    expect(page.locator(".numbers b")).to_have_count(3)
    expect(page.locator(".measured")).to_contain_text("Load a CSV with right tags")
    page.get_by_text("Parameters").click()
    expect(page.locator("dl.code")).to_contain_text("max_leaf")


@pytest.mark.parametrize("model", ["shop", "plain"])
def test_the_model_is_measured_on_the_file_under_review(pages, rows, names, tmp_path, model):
    path = tmp_path / "right.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "labels"])
        pairs = zip(list(rows.texts)[1200:], names[1200:], strict=True)
        writer.writerows([text, "|".join(tags)] for text, tags in pairs)
    page = pages.open("review")
    page.select_option("#model-name", model)
    page.set_input_files("#table-file", path)
    page.get_by_role("link", name="Model").click()
    expect(page.locator(".measured")).to_contain_text("100 rows of right.csv")
    page.click("#measure")
    expect(page.locator(".meters").first.locator("li")).to_have_count(3)
    if model == "plain":
        expect(page.locator(".measured")).to_contain_text("only what it finds can be measured")
        expect(page.locator("#model")).to_contain_text("has not learnt how sure it is")
        return
    expect(page.get_by_role("img", name="How sure, and how often right").locator("circle")).not_to_have_count(0)
    expect(page.locator(".measured .numbers b")).to_have_count(3)
    expect(page.get_by_role("heading", name="Given in place of another")).to_be_visible()
