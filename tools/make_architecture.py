"""Writes the map of docs/architecture.md from the first lines of the files; a test holds it current.

python tools/make_architecture.py
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "architecture.md"
SOURCE = ROOT / "src" / "labelwood"
NATIVE = ROOT / "native"
NATIVE_FOLDERS = {
    "native": "C++20 kernels, plain arrays in and out; `bind/` and `bind_*.cpp` alone know Python.",
    "bind": "What all bindings share.",
    "hot": "Compiled once per instruction level.",
}
BEGIN, END = "<!-- map -->\n", "<!-- end of map -->\n"


def drawn_order(page: str) -> list[str]:
    """The rooms from left to right, as the first drawing of the page shows them."""
    drawing = re.search(r"(?:^ {4}.*\n)+", page, re.MULTILINE)
    return re.findall(r"[a-z_]+", drawing.group()) if drawing else []


def architecture_page() -> str:
    """The page as it is, with the map between its marks made anew."""
    page = PAGE.read_text(encoding="utf-8")
    front, _, rest = page.partition(BEGIN)
    return front + BEGIN + "\n".join(_map(drawn_order(page))) + "\n" + END + rest.partition(END)[2]


def _map(rooms: list[str]) -> list[str]:
    lines = []
    for room in rooms:
        folder, file = SOURCE / room, SOURCE / f"{room}.py"
        lines += _python_room(folder, 0) if folder.is_dir() else [_line(0, file.name, _first_line(file))]
    return lines + _native_room(NATIVE, 0, NATIVE_FOLDERS["native"])


def _python_room(folder: Path, depth: int) -> list[str]:
    lines = [_line(depth, f"{folder.name}/", _first_line(folder / "__init__.py"))]
    for item in sorted(folder.iterdir()):
        if (item / "__init__.py").is_file():
            lines += _python_room(item, depth + 1)
        elif item.suffix == ".py" and item.stem != "__init__":
            lines.append(_line(depth + 1, item.name, _first_line(item)))
    return lines


def _native_room(folder: Path, depth: int, sentence: str) -> list[str]:
    """The headers of a folder, and the sources that have none."""
    lines = [_line(depth, f"{folder.name}/", sentence)]
    for item in sorted(folder.iterdir()):
        if item.is_dir():
            twin = item.relative_to(NATIVE).as_posix()
            served = next((name for name in (f"{twin}/", f"{twin}.py") if (SOURCE / name).exists()), None)
            sentence = f"Kernels for `{served}`." if served else NATIVE_FOLDERS.get(item.name, "")
            lines += _native_room(item, depth + 1, sentence)
        elif item.suffix == ".hpp" or (item.suffix == ".cpp" and not item.with_suffix(".hpp").is_file()):
            lines.append(_line(depth + 1, item.name, _first_comment(item)))
    return lines


def _line(depth: int, name: str, sentence: str) -> str:
    return "  " * depth + f"- `{name}`" + (f": {sentence}" if sentence else "")


def _first_line(path: Path) -> str:
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return docstring.partition("\n")[0]


def _first_comment(path: Path) -> str:
    """The first sentence of the comment at the top of a C++ file; empty if there is none."""
    comment = re.match(r"(?://.*\n)*", path.read_text(encoding="utf-8"))
    words = " ".join(line.removeprefix("//").strip() for line in comment.group().splitlines()) if comment else ""
    return re.split(r"(?<=[.;])\s", words, maxsplit=1)[0].rstrip(";")


def main() -> None:
    """Write the page."""
    PAGE.write_text(architecture_page(), encoding="utf-8")


if __name__ == "__main__":
    main()
