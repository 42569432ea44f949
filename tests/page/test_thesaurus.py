"""A tagger with a thesaurus and an ensemble inside: names in place of ids, and sides among the reasons."""

import pytest
from playwright.sync_api import expect

from labelwood import Tagger, read_vocabulary

SKOS = """
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@base <http://x/> .
<dogs> a skos:Concept ; skos:prefLabel "dogs"@en ; skos:altLabel "hounds"@en .
<cats> a skos:Concept ; skos:prefLabel "cats"@en .
<roads> a skos:Concept ; skos:prefLabel "roads"@en .
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory, serve):
    where = tmp_path_factory.mktemp("library")
    (where / "t.ttl").write_text(SKOS)
    words = {"dogs": "the dog barks", "cats": "a cat purrs", "roads": "traffic on a wide road"}
    places = ("house", "garden", "street", "field", "yard", "city")
    texts = [f"{text} near the {place} number {n}" for n in range(60) for text in words.values() for place in places]
    labels = [[f"http://x/{name}"] for _ in range(60) for name in words for _ in places]
    tagger = Tagger("ensemble", n_threads=2, vocabulary=read_vocabulary(where / "t.ttl"), lang="en")
    tagger.fit(texts, labels).save(where / "library")
    with serve(where, "library") as running:
        yield running


def test_names_in_place_of_ids(pages, library):
    page = pages.open(url=library.url)
    page.get_by_role("textbox").first.fill("hounds in the house")
    dogs = page.locator(".tag", has_text="dogs")
    expect(dogs).to_be_visible()
    dogs.hover()
    expect(page.get_by_text("what is usual")).to_be_visible()  # one of the ensemble's sides
    page.get_by_role("combobox", name="Add a missing tag").fill("houn")
    expect(page.locator("li[role=option]").first).to_contain_text("dogs")
