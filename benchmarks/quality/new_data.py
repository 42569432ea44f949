"""Data sets from Debian's package index, as files that `labelwood train` reads: languages, sizes and kinds of label.

    python benchmarks/quality/new_data.py FOLDER [--lists /var/lib/apt/lists]

One folder a set, with train.jsonl and test.jsonl: rows with `id`, `text`, `labels`. Four fifths of the source packages
train: packages of one source are on one side. `apt-get update` fetches the index; the setting Acquire::Languages
{ "en"; "de"; "fr"; "it"; "es"; "fi"; "pl"; "cs"; "ru"; "ja"; "ko"; } brings the other languages, deb-src in the list of
sources the last two sets.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

HELPER = "/usr/lib/apt/apt-helper"  # reads the index, however it is compressed
LANGUAGES = ("en", "de", "fr", "it", "es", "fi", "pl", "cs", "ru", "ja", "ko")
CUTS = (200, 1_000, 5_000)
TEST_SHARE = 0.2


class Package(NamedTuple):
    """What the index says of one package."""

    name: str
    source: str
    description: str
    tags: list[str]
    section: str
    title: str


class Row(NamedTuple):
    """One row, and the source package that says on which side it is."""

    id: str
    source: str
    text: str
    labels: list[str]


def stanzas(path: Path) -> Iterator[dict[str, str]]:
    """The paragraphs of an index file, field -> value."""
    text = subprocess.run([HELPER, "cat-file", str(path)], check=True, capture_output=True).stdout.decode()
    for paragraph in text.split("\n\n"):
        fields = re.split(r"\n(?=[A-Za-z])", paragraph)
        yield {name: value.strip() for name, _, value in (field.partition(":") for field in fields if field)}


def plain(description: str) -> str:
    """A description as people read it: no leading blanks, no lone dots."""
    lines = (line.strip() for line in description.split("\n"))
    return "\n".join("" if line == "." else line for line in lines)


def packages_of(lists: Path) -> list[Package]:
    """The packages of the index, each name once."""
    found: dict[str, Package] = {}
    for path in sorted(lists.glob("*_Packages*")):
        for fields in stanzas(path):
            if "Package" not in fields or "Description-md5" not in fields:
                continue
            name = fields["Package"]
            tags = sorted({tag.strip() for tag in fields.get("Tag", "").split(",") if tag.strip()})
            source = fields.get("Source", name).split(" ")[0]
            title = fields["Description"].split("\n")[0]
            found[name] = Package(name, source, fields["Description-md5"], tags, fields.get("Section", ""), title)
    return [found[name] for name in sorted(found)]


def descriptions_of(lists: Path, language: str) -> dict[str, str]:
    """The short and long descriptions in a language, by the number of the English one."""
    return {
        fields["Description-md5"]: plain(fields[f"Description-{language}"])
        for path in sorted(lists.glob(f"*_Translation-{language}*"))
        for fields in stanzas(path)
        if f"Description-{language}" in fields
    }


def is_test(source: str) -> bool:
    """Whether the packages of a source are test rows: the same ones wherever this runs."""
    return crc32(source.encode()) < TEST_SHARE * 2**32


def write(folder: Path, rows: list[Row], cut: int | None = None) -> None:
    """train.jsonl and test.jsonl; cut: only so many training rows, chosen by their names."""
    folder.mkdir(parents=True, exist_ok=True)
    training = [row for row in rows if not is_test(row.source)]
    if cut is not None:
        chosen = sorted(training, key=lambda row: crc32(f"cut {row.id}".encode()))[:cut]
        training = sorted(chosen, key=lambda row: row.id)
    for name, part in (("train", training), ("test", [row for row in rows if is_test(row.source)])):
        lines = (json.dumps({"id": r.id, "text": r.text, "labels": r.labels}, ensure_ascii=False) for r in part)
        (folder / f"{name}.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    n_labels = len({label for row in training for label in row.labels})
    characters = sum(len(row.text) for row in training) / max(1, len(training))
    print(f"{folder.name}: {len(training):,} rows, {n_labels:,} labels, {characters:.0f} characters", flush=True)


def sources_of(lists: Path) -> Iterator[dict[str, str]]:
    """The source packages, each name once."""
    seen: set[str] = set()
    for path in sorted(lists.glob("*_Sources*")):
        for fields in stanzas(path):
            if fields.get("Package") and fields["Package"] not in seen:
                seen.add(fields["Package"])
                yield fields


def people(fields: dict[str, str]) -> list[str]:
    """Who maintains a source package."""
    names = re.findall(
        r'\s*"?([^"<>]+?)"?\s*<[^>]*>,?', f"{fields.get('Maintainer', '')}, {fields.get('Uploaders', '')}"
    )
    return sorted({name.strip(" ,") for name in names})


def builds(fields: dict[str, str]) -> list[str]:
    """What a source package needs to be built."""
    needed = ",".join(fields.get(name, "") for name in ("Build-Depends", "Build-Depends-Indep", "Build-Depends-Arch"))
    return sorted({name for part in needed.split(",") if (name := re.split(r"[\s(\[:|<]", part.strip())[0])})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--lists", type=Path, default=Path("/var/lib/apt/lists"))
    given = parser.parse_args()
    packages = packages_of(given.lists)
    tagged = [package for package in packages if package.tags]
    texts = {language: descriptions_of(given.lists, language) for language in LANGUAGES}

    def of_packages(
        some: list[Package], text: Callable[[Package], str], labels: Callable[[Package], list[str]]
    ) -> list[Row]:
        return [Row(p.name, p.source, text(p), labels(p)) for p in some]

    for language, known in texts.items():
        some = [package for package in tagged if package.description in known]
        if not some:
            print(f"{language}: no descriptions in {given.lists}")
            continue
        rows = of_packages(some, lambda p, known=known: known[p.description], lambda p: p.tags)  # type: ignore[misc]
        write(given.folder / f"tags-{language}", rows)
        if language == "en":
            for cut in CUTS:
                write(given.folder / f"tags-en-{cut}", rows, cut)
    write(given.folder / "tags-titles", of_packages(tagged, lambda p: p.title, lambda p: p.tags))

    def any_language(package: Package) -> str:
        known = [
            texts[language][package.description] for language in LANGUAGES if package.description in texts[language]
        ]
        return known[crc32(package.name.encode()) % len(known)] if known else package.title

    write(given.folder / "tags-mixed", of_packages(tagged, any_language, lambda p: p.tags))
    english = texts["en"]
    described = [p for p in packages if p.description in english]
    write(given.folder / "sections", of_packages(described, lambda p: p.title, lambda p: [p.section]))
    of_source: dict[str, str] = {}
    for package in described:
        of_source[package.source] = f"{of_source.get(package.source, '')}{english[package.description]}\n\n"
    known_sources = [fields for fields in sources_of(given.lists) if fields["Package"] in of_source]
    for name, labels in (("people", people), ("builds", builds)):
        rows = [Row(f["Package"], f["Package"], of_source[f["Package"]], labels(f)) for f in known_sources]
        write(given.folder / name, [row for row in rows if row.labels])


if __name__ == "__main__":
    main()
