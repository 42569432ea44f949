"""Pictures as SVG text, without a drawing library: points, lines, bars and whiskers for a page that loads nothing.

Series are told apart by the Okabe-Ito colours, which colour-blind people can tell apart, and also by marker and dash. A
page gives the classes s0..s7 their colours with STYLE; text and axes take the colour of the page around them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from html import escape

# Okabe and Ito (2008), ordered so that the first few differ most on white, on black and in grey print.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F7F7F", "#B5A900")
STYLE = (
    "\n".join(f".s{place}{{--c:{colour}}}" for place, colour in enumerate(COLOURS))
    + """
svg text{fill:currentColor;font:12px system-ui,sans-serif}
svg .axis{stroke:currentColor;stroke-opacity:.5;fill:none}
svg .grid{stroke:currentColor;stroke-opacity:.13;fill:none}
svg .front{stroke:currentColor;stroke-opacity:.55;stroke-dasharray:5 4;fill:none}
svg .mark{fill:var(--c);stroke:var(--c)}
svg .line{stroke:var(--c);stroke-width:2;fill:none}
svg .name{font-size:11px;paint-order:stroke;stroke:var(--bg,#fff);stroke-width:3px;stroke-linejoin:round}
svg .inside{fill:#fff;stroke:none}
"""
)
_DASHES = ("", "7 3", "2 3", "9 3 2 3", "4 2", "12 4")
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 14, 14, 44
_MARKED = 20  # the height from which a bar has room for its marker
_FAR = 25.0  # points behind the best: farther models would press all others together, and are drawn at the edge
_HEADROOM = 0.1  # above the best point, for its name
_LINE = 13  # the height of a name, and the usual width of a letter of it
_LETTER = 6.2


@dataclass(frozen=True)
class Axis:
    """What an axis shows, from where to where; log: equal ratios are equal distances."""

    label: str
    low: float
    high: float
    log: bool = False

    def share(self, value: float) -> float:
        """Where a value lies between the ends, 0 to 1."""
        if self.log:
            return (math.log(value) - math.log(self.low)) / (math.log(self.high) - math.log(self.low))
        return (value - self.low) / (self.high - self.low)

    def ticks(self) -> list[float]:
        """A few round values within the ends."""
        if self.log:
            powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
            steps = (1, 2, 5) if len(powers) <= 4 else (1,)
            values = [step * 10.0**power for power in powers for step in steps]
        else:
            step = 10 ** math.floor(math.log10((self.high - self.low) / 4))
            step *= next(times for times in (1, 2, 5, 10) if (self.high - self.low) / (step * times) <= 6)
            values = [step * place for place in range(math.ceil(self.low / step), math.floor(self.high / step) + 1)]
        slack = 1e-9 * abs(self.high)
        return [value for value in values if self.low - slack <= value <= self.high + slack]


def axis_around(label: str, values: Sequence[float], *, log: bool = False, floor: float | None = None) -> Axis:
    """An axis with room around the values; floor: it begins not below this."""
    low, high = min(values), max(values)
    if log:
        return Axis(label, low / 1.6, high * 1.6, True)
    room = 0.08 * (high - low) or max(1.0, 0.05 * abs(high))
    low, high = low - room, high + room
    return Axis(label, low if floor is None else max(floor, low), high)


@dataclass(frozen=True)
class Frame:
    """A drawing area with two axes."""

    x: Axis
    y: Axis
    width: int
    height: int

    def at(self, x: float, y: float) -> tuple[float, float]:
        """The place of a point in the picture."""
        inner_width, inner_height = self.width - _LEFT - _RIGHT, self.height - _TOP - _BOTTOM
        return _LEFT + inner_width * self.x.share(x), self.height - _BOTTOM - inner_height * self.y.share(y)

    def axes(self) -> str:
        """Grid, axes, ticks and labels."""
        parts = []
        bottom, right = self.height - _BOTTOM, self.width - _RIGHT
        for value in self.x.ticks():
            x, _ = self.at(value, self.y.low)
            parts.append(f'<path class="grid" d="M{x:.1f} {_TOP}V{bottom}"/>')
            parts.append(_text(x, bottom + 16, number(value), "middle"))
        for value in self.y.ticks():
            _, y = self.at(self.x.low, value)
            parts.append(f'<path class="grid" d="M{_LEFT} {y:.1f}H{right}"/>')
            parts.append(_text(_LEFT - 6, y + 4, number(value), "end"))
        parts.append(f'<path class="axis" d="M{_LEFT} {_TOP}V{bottom}H{right}"/>')
        parts.append(_text((_LEFT + right) / 2, self.height - 8, self.x.label, "middle"))
        middle = (_TOP + bottom) / 2
        parts.append(
            f'<text x="13" y="{middle:.1f}" text-anchor="middle" transform="rotate(-90 13 {middle:.1f})">'
            f"{escape(self.y.label)}</text>"
        )
        return "".join(parts)


def scatter(
    points: Sequence[tuple[str, float, float]], x_label: str, y_label: str, title: str, *, width: int = 345
) -> str:
    """Points with their names, less (left, log scale) and more (up) being better, and the line of those none beats.

    Points far below the best stand at the lower edge, with their value beside the name.
    """
    floor = far_below(max(y for _, _, y in points))
    x_axis = axis_around(x_label, [x for _, x, _ in points], log=True)
    y_axis = axis_around(y_label, [y for _, _, y in points if y >= floor])
    y_axis = replace(y_axis, high=y_axis.high + _HEADROOM * (y_axis.high - y_axis.low))
    frame = Frame(x_axis, y_axis, width, 300)
    parts = [frame.axes()]
    front = pareto_front([(x, y) for _, x, y in points])
    inside = [max(y, frame.y.low) for _, _, y in points]
    corners = [frame.at(points[place][1], inside[place]) for place in front]
    way = f"M{corners[0][0]:.1f} {corners[0][1]:.1f}"
    way += "".join(f"H{x:.1f}V{y:.1f}" for x, y in corners[1:])
    parts.append(f'<path class="front" d="{way}"/>')
    places = [frame.at(x, y) for (_, x, _), y in zip(points, inside, strict=True)]
    names = [name if y >= floor else f"{name} ({number(y)}, below)" for name, _, y in points]
    for place, ((name, x, y), (left, top)) in enumerate(zip(points, places, strict=True)):
        parts.append(marker(place, left, top, f"{name}: {number(x)}, {number(y)}"))
    for name, (left, top) in zip(names, _name_places(names, places, frame), strict=True):
        parts.append(_text(left, top, name, "start", "name"))
    description = "; ".join(f"{name}: {x_label} {number(x)}, {y_label} {number(y)}" for name, x, y in points)
    return _svg(width, 300, title, description, parts)


def lines(
    series: Sequence[tuple[str, Sequence[tuple[float, float]]]], x: Axis, y: Axis, title: str, *,
    diagonal: bool = False, markers: bool = False, width: int = 560,
) -> str:  # fmt: skip
    """A line a series, in the colour, dash and marker of its place; diagonal: also the line where both axes agree."""
    frame = Frame(x, y, width, 320)
    parts = [frame.axes()]
    if diagonal:
        (x1, y1), (x2, y2) = frame.at(x.low, y.low), frame.at(x.high, y.high)
        parts.append(f'<path class="front" d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}"/>')
    for place, (name, points) in enumerate(series):
        dash = _DASHES[place % len(_DASHES)]
        drawn = [frame.at(*point) for point in points]
        way = "M" + "L".join(f"{left:.1f} {top:.1f}" for left, top in drawn)
        style = f' stroke-dasharray="{dash}"' if dash else ""
        parts.append(
            f'<path class="line s{place % len(COLOURS)}"{style} d="{way}"><title>{escape(name)}</title></path>'
        )
        shown = drawn if markers else drawn[-1:]
        parts += [marker(place, left, top, name) for left, top in shown]
    description = "; ".join(f"{name} ends at {number(points[-1][1])}" for name, points in series if points)
    return _svg(width, 320, title, description, parts)


def bars(groups: Sequence[str], series: Sequence[tuple[str, Sequence[float]]], y: Axis, title: str) -> str:
    """A group of bars a name in `groups`, a bar a series, with its value above and its marker at the foot."""
    width = max(420, _LEFT + _RIGHT + len(groups) * (len(series) * 30 + 24))
    frame = Frame(Axis("", 0, len(groups)), y, width, 300)
    parts = [
        "".join(
            f'<path class="grid" d="M{_LEFT} {frame.at(0, tick)[1]:.1f}H{width - _RIGHT}"/>'
            + _text(_LEFT - 6, frame.at(0, tick)[1] + 4, number(tick), "end")
            for tick in y.ticks()
        )
    ]
    bar = 0.86 / len(series)
    base = frame.at(0, y.low)[1]
    for group, name in enumerate(groups):
        parts.append(_text(frame.at(group + 0.5, y.low)[0], base + 16, name, "middle"))
        for place, (title_of, values) in enumerate(series):
            left, top = frame.at(group + 0.07 + bar * place, values[group])
            right, _ = frame.at(group + 0.07 + bar * (place + 0.9), values[group])
            parts.append(
                f'<rect class="mark s{place % len(COLOURS)}" x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" '
                f'height="{max(base - top, 0):.1f}"><title>{escape(title_of)}, {escape(name)}: '
                f"{number(values[group])}</title></rect>"
            )
            parts.append(_text((left + right) / 2, top - 4, f"{values[group]:.0f}", "middle", "name"))
            if base - top > _MARKED:  # on grey paper colours look alike
                parts.append(marker(place, (left + right) / 2, base - 10, title_of, "inside"))
    parts.append(f'<path class="axis" d="M{_LEFT} {base:.1f}H{width - _RIGHT}"/>')
    middle = (_TOP + base) / 2
    parts.append(
        f'<text x="13" y="{middle:.1f}" text-anchor="middle" transform="rotate(-90 13 {middle:.1f})">'
        f"{escape(y.label)}</text>"
    )
    description = "; ".join(
        f"{title_of}: " + ", ".join(f"{name} {number(value)}" for name, value in zip(groups, values, strict=True))
        for title_of, values in series
    )
    return _svg(width, 300, title, description, parts)


def whiskers(rows: Sequence[tuple[str, float, float, float]], label: str, title: str, *, width: int = 515) -> str:
    """A line a model: its value as a marker, its interval (low, high) as a whisker; the best is the farthest right.

    The value stands at the end of the line; a model far below the best is an arrow at the left edge.
    """
    floor = far_below(max(value for _, value, _, _ in rows))
    ends = [end for _, value, low, high in rows for end in (low, high) if value >= floor]
    axis = axis_around(label, ends, floor=0.0)
    names = max(len(name) for name, *_ in rows)
    left, step, right = min(170, 14 + 7 * names), 26, 52
    height = _TOP + step * len(rows) + _BOTTOM

    def across(value: float) -> float:
        return left + (width - left - right) * axis.share(value)

    bottom = height - _BOTTOM
    parts = []
    for value in axis.ticks():
        parts.append(f'<path class="grid" d="M{across(value):.1f} {_TOP}V{bottom}"/>')
        parts.append(_text(across(value), bottom + 16, number(value), "middle"))
    parts.append(f'<path class="axis" d="M{left} {bottom}H{width - right}"/>')
    parts.append(_text((left + width - right) / 2, height - 8, label, "middle"))
    for place, (name, value, low, high) in enumerate(rows):
        y = _TOP + step * (place + 0.5)
        parts.append(_text(left - 8, y + 4, name, "end"))
        parts.append(_text(width - 6, y + 4, f"{value:.2f}", "end"))
        if value < floor:
            parts.append(_text(left + 4, y + 4, "\u25c2 far below", "start", "name"))
            continue
        parts.append(f'<path class="line s{place % len(COLOURS)}" d="M{across(low):.1f} {y:.1f}H{across(high):.1f}"/>')
        parts.append(marker(place, across(value), y, f"{name}: {value:.2f} ({low:.2f} to {high:.2f})"))
    description = "; ".join(f"{name} {value:.2f}, {low:.2f} to {high:.2f}" for name, value, low, high in rows)
    return _svg(width, height, title, description, parts)


def marker(place: int, x: float, y: float, title: str, cls: str = "") -> str:
    """The marker of the series at a place: colour and shape; cls: a class in place of the colour's."""
    shapes: tuple[Callable[[float], str], ...] = (
        lambda r: f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r}"',
        lambda r: f'<rect x="{x - r:.1f}" y="{y - r:.1f}" width="{2 * r}" height="{2 * r}"',
        lambda r: f'<path d="M{x:.1f} {y - r - 1:.1f}l{r + 1} {2 * r}h{-2 * r - 2}z"',
        lambda r: f'<path d="M{x:.1f} {y - r - 1:.1f}l{r + 1} {r + 1}l{-r - 1} {r + 1}l{-r - 1} {-r - 1}z"',
        lambda r: f'<path d="M{x:.1f} {y + r + 1:.1f}l{r + 1} {-2 * r}h{-2 * r - 2}z"',
    )
    shape = shapes[place % len(shapes)](5)
    kind = cls or f"mark s{place % len(COLOURS)}"
    return f'{shape} class="{kind}"><title>{escape(title)}</title></{shape[1:].split()[0]}>'


def key(place: int) -> str:
    """The marker and dash of a series, for a legend."""
    dash = _DASHES[place % len(_DASHES)]
    style = f' stroke-dasharray="{dash}"' if dash else ""
    line = f'<path class="line s{place % len(COLOURS)}"{style} d="M1 8H33"/>'
    return f'<svg width="34" height="16" aria-hidden="true">{line}{marker(place, 17, 8, "")}</svg>'


def far_below(best: float) -> float:
    """The value below which a model is drawn at the edge."""
    return best - _FAR


def pareto_front(points: Sequence[tuple[float, float]]) -> list[int]:
    """The places of points (cost, worth) that no other point beats in both, from the cheapest on."""
    front: list[int] = []
    for place in sorted(range(len(points)), key=lambda place: (points[place][0], -points[place][1])):
        if not front or points[place][1] > points[front[-1]][1]:
            front.append(place)
    return front


def number(value: float) -> str:
    """A number of about three digits for people: 0.042, 1.5, 12, 3,400."""
    if value == 0:
        return "0"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def _name_places(
    names: Sequence[str], points: Sequence[tuple[float, float]], frame: Frame
) -> list[tuple[float, float]]:
    """Where each name begins: right, left, above or below its point, wherever it covers no point and no other name."""
    taken = [(x - 6, y - 6, x + 6, y + 6) for x, y in points]
    chosen = []
    for name, (x, y) in zip(names, points, strict=True):
        wide = _LETTER * len(name)
        places = [(x + 9, y + 4), (x - 9 - wide, y + 4)]
        places += [(x + side, y + sign * step) for step in range(_LINE, 5 * _LINE, _LINE - 3) for sign in (-1, 1)
                   for side in (-wide / 2, 6, -6 - wide)]  # fmt: skip
        boxes = [(left, top - 9, left + wide, top + 3) for left, top in places]
        free = [
            place
            for place, box in enumerate(boxes)
            if box[0] > _LEFT and box[1] > 0 and box[2] < frame.width and box[3] < frame.height - _BOTTOM
            and not any(_overlap(box, other) for other in taken)
        ]  # fmt: skip
        best = free[0] if free else 0
        taken.append(boxes[best])
        chosen.append(places[best])
    return chosen


def _overlap(one: tuple[float, float, float, float], other: tuple[float, float, float, float]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _text(x: float, y: float, text: str, anchor: str, cls: str = "") -> str:
    kind = f' class="{cls}"' if cls else ""
    return f'<text{kind} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _svg(width: int, height: int, title: str, description: str, parts: Sequence[str]) -> str:
    return (
        f'<svg role="img" viewBox="0 0 {width} {height}" width="{width}" height="{height}">'
        f"<title>{escape(title)}</title><desc>{escape(description)}</desc>{''.join(parts)}</svg>"
    )
