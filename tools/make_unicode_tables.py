"""Writes native/features/unicode_tables.hpp: what the tokenizer must know of Unicode, as compact ranges.

Run with the Python whose Unicode version is wanted:
`python tools/make_unicode_tables.py native/features/unicode_tables.hpp`.
The tables are committed, so that tokens do not change with the Python that runs or builds labelwood.
tests/unit/test_unicode_tables.py compares them with the running Python.
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path

SURROGATES = range(0xD800, 0xE000)
SIGMA = "\u03a3"


def code_points() -> Iterator[int]:
    """Every code point that can stand in UTF-8 text."""
    return (code for code in range(0x110000) if code not in SURROGATES)


def is_word(char: str) -> bool:
    r"""True if the regular expression \w matches the character."""
    return char.isalnum() or char == "_"


def is_cased(char: str) -> bool:
    """True if the character before a final capital sigma makes it a final one: cased and not ignorable."""
    return (char + SIGMA).lower().endswith("ς")


def is_ignorable(char: str) -> bool:
    """True if str.lower looks past the character when it decides about a capital sigma."""
    return not is_cased(char) and ("A" + char + SIGMA).lower().endswith("ς")


def ranges(test: Callable[[str], bool]) -> list[tuple[int, int]]:
    """The (first, last) code points of every run that passes the test."""
    found: list[tuple[int, int]] = []
    for code in code_points():
        if test(chr(code)):
            if found and found[-1][1] == code - 1:
                found[-1] = (found[-1][0], code)
            else:
                found.append((code, code))
    return found


def lower_ranges() -> tuple[list[tuple[int, int, int, int]], list[tuple[int, str]]]:
    """One-to-one lower-case mappings as (first, last, step, delta), and the mappings to several characters."""
    runs: list[tuple[int, int, int, int]] = []
    several: list[tuple[int, str]] = []
    for code in code_points():
        low = chr(code).lower()
        if low == chr(code):
            continue
        if len(low) > 1:
            several.append((code, low))
            continue
        delta = ord(low) - code
        if runs:
            first, last, step, run_delta = runs[-1]
            gap = code - last
            if run_delta == delta and gap in (1, 2) and (first == last or gap == step):
                runs[-1] = (first, code, gap, delta)
                continue
        runs.append((code, code, 1, delta))
    return runs, several


def rows(items: list[str], width: int = 118) -> str:
    """The items as indented lines of at most `width` characters."""
    lines, line = [], "   "
    for item in items:
        if len(line) + len(item) + 2 > width:
            lines.append(line)
            line = "   "
        line += f" {item},"
    return "\n".join([*lines, line])


def table(name: str, why: str, found: list[tuple[int, int]]) -> str:
    """A C++ array of ranges."""
    body = rows([f"{{0x{first:x}, 0x{last:x}}}" for first, last in found])
    return f"// {why}\ninline constexpr Range {name}[] = {{\n{body}\n}};\n"


def header() -> str:
    """The whole header file."""
    runs, several = lower_ranges()
    if any(len(text) != 2 for _, text in several):
        raise SystemExit("a lower-case mapping has more than two characters: widen LowerPair")
    lower = rows([f"{{0x{first:x}, 0x{last:x}, {step}, {delta}}}" for first, last, step, delta in runs])
    pairs = rows([f"{{0x{code:x}, 0x{ord(text[0]):x}, 0x{ord(text[1]):x}}}" for code, text in several])
    parts = [
        f"// Made by tools/make_unicode_tables.py from Unicode {unicodedata.unidata_version}; do not edit.\n"
        "#pragma once\n#include <cstdint>\n",
        "namespace lw::unicode {\n",
        f'inline constexpr char kVersion[] = "{unicodedata.unidata_version}";\n',
        "struct Range {\n    std::uint32_t first, last;\n};\n",
        "struct LowerRange {\n    std::uint32_t first, last, step;\n    std::int32_t delta;\n};\n",
        "struct LowerPair {\n    std::uint32_t code, first, second;\n};\n",
        table("kWord", r"What \w matches: letters, digits, numbers and the low line.", ranges(is_word)),
        table("kSpace", r"What \s matches and str.split cuts at.", ranges(str.isspace)),
        table("kCased", "Not ignorable, and makes a capital sigma behind it a final one.", ranges(is_cased)),
        table("kIgnorable", "Looked past when a capital sigma's neighbours are searched.", ranges(is_ignorable)),
        "// Every step-th code point from first to last is lowered by adding delta.\n"
        f"inline constexpr LowerRange kLower[] = {{\n{lower}\n}};\n",
        f"// Lowered to two code points.\ninline constexpr LowerPair kLowerPairs[] = {{\n{pairs}\n}};\n",
        "}  // namespace lw::unicode\n",
    ]
    return "\n".join(parts)


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(header(), encoding="utf-8")
