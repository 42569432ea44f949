"""The native row parser against a plain Python one that knows the formats as regular expressions."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from labelwood._native import RowParser

LABELS = re.compile(rb"\d+(,\d+)*")
NUMBER = re.compile(rb"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")


class BadRowError(Exception):
    pass


def nearest_float32(text: bytes) -> float:
    """Round to nearest, ties to even, decided with exact fractions."""
    exact = Fraction(text.decode())
    with np.errstate(over="ignore", under="ignore"):
        middle = np.float32(float(exact)) if abs(exact) < 10**39 else np.float32(np.inf)
    if abs(exact) >= Fraction(2**128 - 2**103):  # half a step above the largest float32
        raise BadRowError("too large")
    if np.isinf(middle):
        middle = np.copysign(np.finfo(np.float32).max, middle)
    with np.errstate(over="ignore", under="ignore"):
        near = [np.nextafter(middle, np.float32(-np.inf)), middle, np.nextafter(middle, np.float32(np.inf))]
    near = [value for value in near if np.isfinite(value)]

    def distance(value):
        return abs(Fraction(float(value)) - exact), int(np.float32(value).view(np.uint32)) & 1

    return float(min(near, key=distance))


def slow_row(line: bytes, labels: bool, svmlight: bool, n_features: int, n_labels: int, base: int):
    """(labels, {column: value}) or None for a line that is no row."""
    if b"\0" in line:
        raise BadRowError("NUL")
    if svmlight:
        line = line.split(b"#")[0]
        if not line.strip(b" \t"):
            return None
    tokens = [token for token in re.split(rb"[ \t]+", line) if token]
    found: list[int] = []
    if labels and tokens and line[:1] not in (b" ", b"\t"):
        if LABELS.fullmatch(tokens[0]):
            found = sorted({int(label) for label in tokens.pop(0).split(b",")})
        elif not re.match(rb"\d+:", tokens[0]):
            raise BadRowError("label list")
    if any(label >= n_labels for label in found):
        raise BadRowError("label range")
    sums: dict[int, list[float]] = {}
    for token in tokens:
        column, colon, number = token.partition(b":")
        if not re.fullmatch(rb"\d+", column) or not base <= int(column) < n_features + base:
            raise BadRowError("column")
        if not colon and not svmlight:
            raise BadRowError("colon")
        if colon and not NUMBER.fullmatch(number):
            raise BadRowError("number")
        value = nearest_float32(number) if colon else 1.0
        if value != 0:
            sums.setdefault(int(column) - base, []).append(value)
    row = {}
    for column, values in sorted(sums.items()):
        with np.errstate(over="ignore"):
            total = np.float32(sum(values[1:], start=values[0]))
        if np.isinf(total):
            raise BadRowError("sum")
        if total != 0:
            row[column] = total
    return found, row


def slow_parse(text: bytes, **rules):
    """(rows, bad line numbers): the twin of RowParser with keep_going, where a bad row is an empty one."""
    lines = text.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    rows, bad = [], []
    for number, line in enumerate(lines, start=1):
        try:
            row = slow_row(line.removesuffix(b"\r"), **rules)
        except BadRowError:
            bad.append((number, len(rows)))
            row = ([], {})
        if row is not None:
            rows.append(row)
    return rows, bad


def fast_parse(text: bytes, *, keep_going: bool, threads: int = 1, cut: int | None = None, **rules):
    names = {"base": "index_base"}
    parser = RowParser(**{names.get(name, name): value for name, value in rules.items()}, keep_going=keep_going)
    data = np.frombuffer(text, np.uint8)
    used = 0
    if cut is not None:
        used = parser.feed(data[:cut], False, threads)
        assert used == 0 or text[used - 1 : used] == b"\n"
    if not parser.stopped:
        assert parser.feed(data[used:], True, threads) == len(text) - used
    return parser


def arrays(parser):
    x_starts, y_starts = np.empty(parser.n_rows + 1, np.int64), np.empty(parser.n_rows + 1, np.int64)
    x_columns, y_columns = np.empty(parser.x_size, np.int32), np.empty(parser.y_size, np.int32)
    x_values, bad = np.empty(parser.x_size, np.float32), np.empty(parser.n_bad, np.int64)
    parser.assemble(x_starts, x_columns, x_values, y_starts, y_columns, bad, 1)
    return x_starts, x_columns, x_values, y_starts, y_columns, bad


def check(text: bytes, cut: int | None = None, **rules) -> None:
    rows, bad = slow_parse(text, **rules)
    parser = fast_parse(text, keep_going=True, cut=cut, **rules)
    assert [line for line, _ in parser.faults] == [line for line, _ in bad[:3]]
    assert parser.n_bad == len(bad)
    x_starts, x_columns, x_values, y_starts, y_columns, bad_rows = arrays(parser)
    assert bad_rows.tolist() == [row for _, row in bad]
    assert parser.n_rows == len(rows)
    for i, (labels, row) in enumerate(rows):
        assert y_columns[y_starts[i] : y_starts[i + 1]].tolist() == labels
        assert x_columns[x_starts[i] : x_starts[i + 1]].tolist() == list(row)
        expected = np.array(list(row.values()), np.float32)
        np.testing.assert_array_equal(x_values[x_starts[i] : x_starts[i + 1]].view(np.uint32), expected.view(np.uint32))
    strict = fast_parse(text, keep_going=False, cut=cut, **rules)
    assert strict.stopped == bool(bad)
    if bad:
        assert strict.faults[0] == parser.faults[0]


RULES = [
    {"labels": True, "svmlight": False, "n_features": 50, "n_labels": 20, "base": 0},
    {"labels": False, "svmlight": False, "n_features": 50, "n_labels": 0, "base": 0},
    {"labels": True, "svmlight": True, "n_features": 50, "n_labels": 20, "base": 0},
    {"labels": True, "svmlight": True, "n_features": 50, "n_labels": 20, "base": 1},
]

numbers = st.one_of(
    st.from_regex(rb"[0-9]{1,3}\.?[0-9]{0,9}", fullmatch=True),
    st.floats(width=32, allow_nan=False, allow_infinity=False).map(lambda value: repr(value).encode()),
    st.floats(allow_nan=False, allow_infinity=False).map(lambda value: repr(value).encode()),
    st.from_regex(rb"[-+]?[0-9]{0,25}\.?[0-9]{0,25}([eE][-+]?[0-9]{1,3})?", fullmatch=True),
    st.sampled_from([b"nan", b"inf", b"-Infinity", b"1e39", b"3.4028235e38", b"3.4028236e38", b"1e-50", b"0x1p3"]),
)
entries = st.builds(lambda i, v: b"%d:%s" % (i, v), st.integers(0, 52), numbers)
separators = st.sampled_from([b" ", b" ", b" ", b"  ", b"\t"])
label_lists = st.one_of(
    st.just(b""),
    st.lists(st.integers(0, 20), min_size=1, max_size=4).map(lambda ids: b",".join(b"%d" % i for i in ids)),
    st.sampled_from([b"1,", b",1", b"-1", b"1;2", b"99999999999"]),
)
good_lines = st.builds(
    lambda labels, items, separator: separator.join([labels, *items]),
    label_lists,
    st.lists(
        st.one_of(entries, entries, st.sampled_from([b"7", b"qid:3", b"#x", b"3:", b":4", b"-2:1"])),
        max_size=6,
    ),
    separators,
)
junk_lines = st.lists(st.sampled_from(list(b" \t,:.#-+eE0123456789\rnaif\0\xff")), max_size=20).map(bytes)
texts = st.builds(
    lambda lines, end, last: end.join(lines) + (end if last else b""),
    st.lists(st.one_of(good_lines, good_lines, good_lines, junk_lines), max_size=8),
    st.sampled_from([b"\n", b"\r\n"]),
    st.booleans(),
)


@pytest.mark.parametrize("rules", RULES, ids=["xmc", "split", "svmlight-0", "svmlight-1"])
@settings(max_examples=80, deadline=None)
@given(text=texts, cut=st.integers(0, 60))
@example(text=b"1,2 3:0.5 4:1e0\n\n 5:1\n", cut=3)
@example(text=b"2,1,2 9:1 3:0.5 9:0.25\n3:1 3:-1 4:2", cut=0)
def test_agrees_with_the_slow_parser(rules, text, cut):
    check(text, cut=cut, **rules)


def test_a_large_random_file_agrees_with_the_slow_parser():
    random = np.random.default_rng(7)
    lines = []
    for _ in range(400):
        labels = random.integers(0, 20, random.integers(0, 4))
        columns = random.integers(0, 50, random.integers(0, 12))
        values = random.choice([1, 0.1380, 12.5, 1e-3, -4.25, 0.123456789, 7654321.0, 1e10], len(columns))
        values = values * random.choice([1.0, random.random()], len(columns))
        lines.append(
            ",".join(map(str, labels))
            + " "
            + " ".join(f"{c}:{v!r}" for c, v in zip(columns, values.tolist(), strict=True))
        )
    check("\n".join(lines).encode(), **RULES[0])


def midpoint_texts():
    """Decimal texts exactly between two neighbouring floats, and a hair above and below."""
    random = np.random.default_rng(3)
    bits = random.integers(1, 0x7F000000, 300).astype(np.uint32)
    for low in bits.view(np.float32):
        with np.errstate(under="ignore"):
            high = np.nextafter(low, np.float32(np.inf))
        middle = (Fraction(float(low)) + Fraction(float(high))) / 2
        scale = 0
        while (middle * 10**scale).denominator != 1:
            scale += 1
        digits = int(middle * 10**scale)
        yield f"{digits}e-{scale}".encode()
        yield f"{digits * 10 + 1}e-{scale + 1}".encode()
        yield f"{digits * 10 - 1}e-{scale + 1}".encode()


def test_every_float_is_rounded_correctly_even_between_two_floats():
    texts = list(midpoint_texts())
    # Ordinary lengths too: 17 digits go through the guarded double path, 20 and more through the library.
    random = np.random.default_rng(4)
    for digits in range(1, 24):
        for _ in range(40):
            whole = "".join(map(str, random.integers(0, 10, digits)))
            point = int(random.integers(0, digits + 1))
            texts.append(f"{whole[:point] or '0'}.{whole[point:]}e{random.integers(-44, 30)}".encode())
    kept = []
    for text in texts:
        try:
            kept.append((text, nearest_float32(text)))
        except BadRowError:
            continue
    line = b" " + b" ".join(b"%d:%s" % (i, text) for i, (text, _) in enumerate(kept))
    parser = fast_parse(line, keep_going=False, labels=True, n_features=len(kept), n_labels=1)
    assert parser.faults == []
    _, columns, values, *_ = arrays(parser)
    expected = np.zeros(len(kept), np.float32)
    expected[:] = [value for _, value in kept]
    got = np.zeros(len(kept), np.float32)
    got[columns] = values
    wrong = np.flatnonzero(got.view(np.uint32) != expected.view(np.uint32))
    assert len(wrong) == 0, [(kept[i], got[i]) for i in wrong[:5]]


def big_text(bad_lines=()) -> bytes:
    """About 5 MB, so that it is cut into several pieces."""
    random = np.random.default_rng(1)
    lines = [
        b"%d,%d " % (i % 19, i % 7)
        + b" ".join(b"%d:0.%d" % (c, v) for c, v in zip(*random.integers(0, 50, (2, 40)), strict=True))
        for i in range(2000)
    ]
    lines = lines * 10
    for number in bad_lines:
        lines[number - 1] += b" 50:1"
    return b"\n".join(lines)


def test_any_number_of_threads_gives_the_same_arrays():
    text = big_text()
    one = arrays(fast_parse(text, keep_going=False, threads=1, **RULES[0]))
    for threads in (2, 3, 7):
        more = arrays(fast_parse(text, keep_going=False, threads=threads, cut=len(text) // 2, **RULES[0]))
        for a, b in zip(one, more, strict=True):
            np.testing.assert_array_equal(a, b)


def test_any_number_of_threads_names_the_same_first_bad_line():
    text = big_text(bad_lines=(18001, 4321, 19999))
    for threads in (1, 2, 5):
        parser = fast_parse(text, keep_going=False, threads=threads, **RULES[0])
        assert parser.faults == [(4321, "feature 50 is outside 0..49")]
        skipping = fast_parse(text, keep_going=True, threads=threads, **RULES[0])
        assert [line for line, _ in skipping.faults] == [4321, 18001, 19999]
        assert arrays(skipping)[5].tolist() == [4320, 18000, 19998]


def test_assemble_refuses_arrays_of_other_sizes():
    parser = fast_parse(b"1 2:3\n", keep_going=False, **RULES[0])
    with pytest.raises(ValueError, match="sizes"):
        parser.assemble(*(np.empty(0, t) for t in (np.int64, np.int32, np.float32, np.int64, np.int32, np.int64)), 1)
