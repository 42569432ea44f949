"""The review queue: a CSV file, its order, decisions, the way back, export and corrections."""

import csv
import io
import json
import re

import pytest
from playwright.sync_api import expect

from labelwood.cli.main import run


@pytest.fixture
def table(rows, names, tmp_path):
    """40 rows that the model has not seen; row 8 has nonsense in place of its right tags."""
    texts, labels = list(rows.texts)[1200:1240], names[1200:1240]
    labels = [*labels[:7], ["nonsense", "folly", "humbug"], *labels[8:]]
    path = tmp_path / "shop rows.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=";")
        writer.writerow(["number", "description", "tags"])
        pairs = enumerate(zip(texts, labels, strict=True))
        writer.writerows([number, text, "|".join(tags)] for number, (text, tags) in pairs)
    return path


@pytest.fixture
def queue(pages, table):
    page = pages.open("review")
    page.set_input_files("#table-file", table)
    page.click("#start")
    expect(page.locator("#told")).to_have_text("0 of 40 rows reviewed")
    return page


def test_columns_are_guessed_and_can_be_chosen(pages, table):
    page = pages.open("review")
    page.set_input_files("#table-file", table)
    expect(page.get_by_role("heading", name="shop rows.csv")).to_be_visible()
    fields = ("column-text", "column-tags", "separator")
    chosen = [page.locator(f"#{name} option:checked").inner_text() for name in fields]
    assert chosen == ["description", "tags", "|"]
    assert page.locator("#order").input_value() == "disagree"
    page.select_option("#column-tags", "-1")
    assert page.locator("#order").input_value() == "unsure"
    expect(page.locator("#separator")).to_have_count(0)
    page.click("#start")
    expect(page.locator("li.disagree")).to_have_count(0)
    expect(page.locator("li.in .state").first).to_have_text("assigned")


def test_columns_of_training_are_chosen(pages, serve, tmp_path):
    rows = [("soup", "hot and salty", "soup\nhot"), ("tea", "hot and sweet", "drink\nhot"), ("ice", "cold", "cold")]
    table = tmp_path / "dishes.csv"
    with table.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("name", "description", "kind"), *rows * 3])
    assert run(["train", str(table), "--labels", "kind", "--out", str(tmp_path / "dishes"), "--threads", "1"]) == 0
    with serve(tmp_path, "dishes") as service:
        page = pages.open("review", url=service.url)
        page.set_input_files("#table-file", table)
        fields = ("column-text", "column-tags", "separator")
        chosen = [page.locator(f"#{name} option:checked").inner_text() for name in fields]
        assert chosen == ["name + description", "kind", "line break"]
        page.click("#start")
        expect(page.locator("#told")).to_have_text("0 of 9 rows reviewed")
        expect(page.locator("#row-text")).to_contain_text("hot and")


def test_the_worst_disagreement_comes_first(queue):
    expect(queue.get_by_role("heading", name="Row 8 of the file")).to_be_visible()
    nonsense = queue.locator("li", has=queue.locator("[data-name=nonsense]"))
    expect(nonsense).to_have_class("in disagree")
    expect(nonsense).to_contain_text("only your file has it")
    expect(queue.locator("li.out.disagree").first).to_contain_text("only the model has it")


def test_orders_by_doubt_and_by_disagreement(page):
    orders = page.evaluate(
        """async () => {
        const { Queue } = await import("/queue.js");
        const label = (name, probability) => ({ name, probability, score: probability, assigned: probability >= 0.5 });
        const row = (given, ...labels) => ({ given, labels, decided: new Map(), done: false });
        const rows = [row(["a"], label("a", 0.99)), row(["a"], label("a", 0.55)), row(["b"], label("a", 0.97))];
        return ["unsure", "disagree", "file"].map((order) => new Queue(rows, order).order);
    }"""
    )
    assert orders == [[1, 2, 0], [2, 1, 0], [0, 1, 2]]


def test_rows_are_reviewed_by_keyboard_and_undone(queue):
    heading = queue.locator("#review h2").first
    queue.locator("[data-name=nonsense]").focus()
    queue.keyboard.press("r")
    queue.keyboard.press("Enter")
    expect(queue.locator("#told")).to_have_text("1 of 40 rows reviewed")
    expect(heading).not_to_have_text("Row 8 of the file")
    second = heading.inner_text()
    queue.keyboard.press("s")
    expect(heading).not_to_have_text(second)
    expect(queue.locator("#told")).to_have_text("1 of 40 rows reviewed")
    queue.keyboard.press("b")
    expect(heading).to_have_text(second)
    queue.keyboard.press("z")  # the row is open again
    expect(heading).to_have_text("Row 8 of the file")
    expect(queue.locator("#told")).to_have_text("0 of 40 rows reviewed")
    expect(queue.locator("[data-name=nonsense]")).to_have_attribute("aria-label", re.compile("rejected$"))
    queue.keyboard.press("z")
    expect(queue.locator("[data-name=nonsense]")).to_have_attribute("aria-label", re.compile("only your file has it$"))
    assert queue.locator("#progress").evaluate("bar => [bar.value, bar.max]") == [0, 40]


def test_reasons_are_marked_in_the_row(queue):
    queue.locator(".tag").first.focus()
    expect(queue.locator("#row-text mark").first).to_be_visible()
    expect(queue.locator(".why h2")).to_be_visible()


def test_the_export_has_every_row_and_what_was_decided(queue, table):
    queue.locator("[data-name=nonsense]").focus()
    queue.keyboard.press("r")
    queue.keyboard.press("/")
    queue.keyboard.type("fine; new")
    queue.keyboard.press("Enter")  # before its list can be there
    expect(queue.locator(".tag[data-name='fine; new']")).to_be_focused()
    queue.click("#done")
    with queue.expect_download() as download:
        queue.click("#export")
    assert download.value.suggested_filename == "shop rows-reviewed.csv"
    written = download.value.path().read_text(encoding="utf-8-sig")
    exported = list(csv.DictReader(io.StringIO(written, newline=""), delimiter=";"))
    with table.open(encoding="utf-8", newline="") as file:
        original = list(csv.DictReader(file, delimiter=";"))
    assert [{name: row[name] for name in original[0]} for row in exported] == original
    assert exported[7]["reviewed"] == "yes"
    assert exported[7]["tags_reviewed"].split("|") == ["folly", "humbug", "fine; new"]
    assert [row["reviewed"] for row in exported].count("no") == 39
    assert all(row["tags_reviewed"] == row["tags"] for row in exported if row["reviewed"] == "no")


def test_corrections_go_to_the_journal_once(queue, service, token):
    queue.locator("[data-name=nonsense]").focus()
    queue.keyboard.press("r")
    queue.keyboard.press("Enter")
    queue.keyboard.press("Enter")
    queue.click("#open-token")
    queue.get_by_label("Token", exact=True).fill(token)
    queue.get_by_role("button", name="Use it").click()
    journal = service.folder / "shop.corrections.jsonl"
    before = len(journal.read_text(encoding="utf-8").splitlines()) if journal.exists() else 0
    queue.click("#send-all")
    expect(queue.locator("#problem")).to_have_text("2 corrections are saved.")
    lines = [json.loads(line) for line in journal.read_text(encoding="utf-8").splitlines()[before:]]
    assert len(lines) == 2
    assert "nonsense" not in lines[0]["labels"]
    queue.click("#send-all")
    expect(queue.locator("#problem")).to_have_text("All reviewed rows are saved already.")


def test_a_busy_service_is_asked_again(pages, table):
    page = pages.open("review")
    page.set_input_files("#table-file", table)
    asked = []

    def busy_once(route):
        asked.append(route)
        if len(asked) == 1:
            route.fulfill(status=503, headers={"Retry-After": "1"}, json={"detail": "too much is waiting"})
        else:
            route.continue_()

    page.route("**/v1/predict", busy_once)
    page.click("#start")
    expect(page.locator("#told")).to_have_text("0 of 40 rows reviewed")
    assert len(asked) == 2
    assert "503" in pages.faults.pop()


def test_an_empty_file_and_another_one(pages, tmp_path, table):
    (tmp_path / "empty.csv").write_text("text,tags\n")
    page = pages.open("review")
    page.set_input_files("#table-file", tmp_path / "empty.csv")
    expect(page.locator("#problem")).to_have_text("This file has no rows below its first line.")
    page.set_input_files("#table-file", table)
    page.get_by_role("button", name="Another file").click()
    expect(page.locator(".drop")).to_be_visible()


TABLES = [
    ("a,b\r\n1,2\r\n", ",", [["1", "2"]]),
    ('a;b\n"x;\n""y""";\n\n3;4', ";", [['x;\n"y"', ""], ["3", "4"]]),
    ("a\tb\n 1\t2, 3\n", "\t", [[" 1", "2, 3"]]),
    ('"a,b",c\nonly\n', ",", [["only", ""]]),
]


def test_csv_files_are_read_as_python_reads_them(page):
    for text, delimiter, expected in TABLES:
        read = page.evaluate("async (text) => (await import('/csv.js')).parse(text)", text)
        assert (read["delimiter"], read["rows"]) == (delimiter, expected)
        write = "async ([rows, sign]) => (await import('/csv.js')).written(rows, sign)"
        again = page.evaluate(write, [expected, delimiter])
        assert list(csv.reader(io.StringIO(again, newline=""), delimiter=delimiter)) == expected
