"""The settings that both sides of the comparison with fastText share, on the command line."""

from __future__ import annotations

import argparse


def add_training_options(parser: argparse.ArgumentParser) -> None:
    """Add all settings that both tools know; the defaults are those of the paper's runs.

    Only buckets and epochs are smaller than there.
    """
    parser.add_argument("--loss", choices=("hs", "softmax", "ova", "ns"), default="hs", help="fastText's name of it")
    parser.add_argument("--dim", type=int, default=128)
    parser.add_argument("--epochs", type=int, default=25)
    parser.add_argument("--rate", type=float, default=0.5)
    parser.add_argument("--ngrams", type=int, default=2)
    parser.add_argument("--buckets", type=int, default=200_000)
    parser.add_argument("--min-count", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)


def training_options(given: argparse.Namespace) -> list[str]:
    """The same settings as arguments for another command."""
    names = ("loss", "dim", "epochs", "rate", "ngrams", "buckets", "min_count", "threads", "seed")
    return [word for name in names for word in (f"--{name.replace('_', '-')}", str(getattr(given, name)))]
