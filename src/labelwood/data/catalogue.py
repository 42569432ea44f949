"""Data sets known by name: their sizes, licences, propensity constants, and where a mirror keeps them.

Sizes are those of the Extreme Classification Repository (bag-of-words releases); eurlex57k's are the official
split.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from labelwood.errors import DataError, unknown_name

REPOSITORY = "http://manikvarma.org/downloads/XC/XMLRepository.html"
# Jain et al. (2016), "Extreme multi-label loss functions": (A, B) of the inverse propensities.
USUAL = (0.55, 1.5)
WIKIPEDIA = (0.5, 0.4)
AMAZON = (0.6, 2.6)

_REPOSITORY_LICENCE = (
    "Extreme Classification Repository: research use; cite Bhatia et al. (2016) and the original source"
)


@dataclass(frozen=True)
class KnownData:
    """One data set: sizes are None where they are not known for certain.

    url: the address of its archive, or None when there is none that may be fetched: then a mirror is needed,
    which keeps it as `<mirror>/<name>.zip`. sha256: of the archive, when known. propensity: (A, B).
    """

    name: str
    title: str
    n_train: int | None
    n_test: int | None
    n_features: int | None
    n_labels: int | None
    propensity: tuple[float, float] = USUAL
    licence: str = _REPOSITORY_LICENCE
    homepage: str = REPOSITORY
    url: str | None = None
    sha256: str | None = None
    note: str = ""

    @property
    def archive(self) -> str:
        """The file name of its archive on a mirror."""
        return f"{self.name}.zip"


_MULAN = "Mulan repository: research use; cite the authors of the data set"

_KNOWN = {
    entry.name: entry
    for entry in (
        KnownData("bibtex", "Bibtex", 4_880, 2_515, 1_836, 159, licence=_MULAN),
        KnownData("delicious", "Delicious", 12_920, 3_185, 500, 983, licence=_MULAN),
        KnownData("mediamill", "Mediamill", 30_993, 12_914, 120, 101, licence=_MULAN),
        KnownData(
            "eurlex-4k", "EURLex-4K", 15_539, 3_809, 5_000, 3_993,
            note="the raw-text release has another split and other features: figures do not compare",
        ),
        KnownData(
            "eurlex57k", "EURLEX57K", 45_000, 6_000, None, 4_271,
            licence="CC BY-SA 4.0 (Chalkidis et al. 2019); texts (c) European Union, reuse authorised",
            homepage="http://nlp.cs.aueb.gr",
            note="6,000 further development rows; texts, so the number of features is the vectoriser's",
        ),
        KnownData("amazoncat-13k", "AmazonCat-13K", 1_186_239, 306_782, 203_882, 13_330),
        KnownData("wiki10-31k", "Wiki10-31K", 14_146, 6_616, 101_938, 30_938),
        KnownData(
            "lf-amazontitles-131k", "LF-AmazonTitles-131K", 294_805, 134_835, 40_000, 131_073, AMAZON,
            note="remove its filter pairs before an evaluation",
        ),
        KnownData("delicious-200k", "Delicious-200K", 196_606, 100_095, 782_585, 205_443),
        KnownData("wikilshtc-325k", "WikiLSHTC-325K", 1_778_351, 587_084, 1_617_899, 325_056, WIKIPEDIA),
        KnownData(
            "wikipedia-500k", "Wikipedia-500K", 1_813_391, 783_743, 2_381_304, 501_070, WIKIPEDIA,
            note="the raw-text Wiki-500K has 1,779,881 / 769,421 rows: figures do not compare",
        ),
        KnownData("amazon-670k", "Amazon-670K", 490_449, 153_025, 135_909, 670_091, AMAZON),
        KnownData("amazon-3m", "Amazon-3M", 1_717_899, 742_507, 337_067, 2_812_281, AMAZON),
    )
}  # fmt: skip


def names() -> tuple[str, ...]:
    """The names of all known data sets, small ones first."""
    return tuple(_KNOWN)


def find(name: str) -> KnownData:
    """The data set of that name, however it is written ('EURLex-4K', 'eurlex_4k'); DataError if unknown."""
    wanted = _plain(name)
    for entry in _KNOWN.values():
        if _plain(entry.name) == wanted:
            return entry
    raise DataError(unknown_name("data set", name, _KNOWN))


def recognised(path: Path) -> KnownData | None:
    """The data set that a file belongs to, by the name of its folder or its own ('amazon-670k_test.txt')."""
    file = _plain(path.name)
    for entry in _KNOWN.values():
        name = _plain(entry.name)
        if _plain(path.absolute().parent.name) == name or file.startswith(name):
            return entry
    return None


def folder_named(root: Path, name: str) -> Path | None:
    """The folder in `root` with that name, however it is written ('EURLex-4K', 'eurlex_4k'); None if there is none."""
    folders = sorted(path for path in root.iterdir() if path.is_dir()) if root.is_dir() else []
    return next((path for path in folders if _plain(path.name) == _plain(name)), None)


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())
