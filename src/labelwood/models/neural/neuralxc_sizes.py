"""The widths of NeuralXC's networks: as published where the data set is one of the published ones, else by a rule."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Sizes:
    """Widths of the input encoder (features first, code last), of the output encoder, and of the regressor's middle.

    The decoders have the same widths the other way round.
    """

    input: tuple[int, ...]
    output: tuple[int, ...]
    middle: int


# (features, labels) -> sizes of the published code: Bibtex, Delicious, Mediamill, EURLex-4K.
PUBLISHED = {
    (1836, 159): Sizes((1836, 1152, 600, 256), (159, 96, 32), 112),
    (500, 983): Sizes((500, 250, 125), (983, 326, 163, 82), 104),
    (120, 101): Sizes((120, 100, 50), (101, 75, 50, 32), 41),
    (5000, 3993): Sizes((5000, 2500, 1250, 500), (3993, 1331, 443, 141), 325),
}


def network_sizes(n_features: int, n_labels: int) -> Sizes:
    """The widths for a data set.

    The rule: two layers down to a code of a quarter of the features (32 to 512), one between; labels down to a fifth
    (32 to 256); the middle is the mean of both codes, as it nearly is in all published ones. No layer is wider than
    1024.
    """
    if (n_features, n_labels) in PUBLISHED:
        return PUBLISHED[n_features, n_labels]
    code = min(512, max(32, n_features // 4))
    label_code = min(256, max(32, n_labels // 5))
    between = min(1024, max(64, n_features // 2))
    label_between = min(1024, max(64, n_labels // 3))
    return Sizes((n_features, between, code), (n_labels, label_between, label_code), (code + label_code) // 2)
