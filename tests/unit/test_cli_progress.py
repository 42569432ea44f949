"""Progress of the command line: rare lines where there is no terminal, nothing when quiet."""

import io
import sys

from labelwood.cli.progress import Bar, Lines, TimeLeft, shown
from labelwood.progress import SILENT, WHOLE


def test_quick_work_writes_no_line():
    written = []
    lines = Lines(clock=lambda: 0.0, write=written.append)
    for done in range(1000):
        lines.step("training", done, 1000)
    assert written == []


def test_slow_work_writes_one_line_in_ten_seconds():
    now, written = [0.0], []
    lines = Lines(clock=lambda: now[0], write=written.append)
    for second in range(35):
        now[0] = float(second)
        lines.step("training", second, 100)
    assert written == [
        "training: 10 of 100 (10%, about 90 s left)",
        "training: 20 of 100 (20%, about 80 s left)",
        "training: 30 of 100 (30%, about 70 s left)",
    ]


def test_the_time_left_goes_by_what_was_done_here():
    now = [0.0]
    left = TimeLeft(clock=lambda: now[0])
    assert left.text("classifiers", 500, 1000) == ""  # the first half was there already
    now[0] = 4.0
    assert left.text("classifiers", 510, 1000) == ""  # too early to tell
    now[0] = 60.0
    assert left.text("classifiers", 600, 1000) == ", about 4 min left"
    assert left.text("classifiers", 1000, 1000) == ""
    assert left.text("reading", 0, 0) == ""


def test_lines_tell_the_time_left_in_all():
    now, written = [0.0], []
    lines = Lines(clock=lambda: now[0], write=written.append)
    for second in (0.0, 11.0, 22.0):
        now[0] = second
        if second > 11:
            lines.step(WHOLE, 22, 322)
        lines.step("part 1 of 3, words: choosing C", int(second), 100)
    assert written == [
        "part 1 of 3, words: choosing C: 11 of 100 (11%, about 89 s left)",
        "part 1 of 3, words: choosing C: 22 of 100 (22%, about 78 s left); in all about 5 min left",
    ]


def test_unknown_totals_are_left_out():
    now, written = [0.0], []
    lines = Lines(clock=lambda: now[0], write=written.append)
    now[0] = 11.0
    lines.step("reading", 12345, 0)
    assert written == ["reading: 12,345"]


class Display:
    """What a bar needs of rich's Progress, which bars are shown, and what was asked of it."""

    def __init__(self):
        self.tasks, self.updates, self.shown = [], [], {}
        self.described = {}

    def add_task(self, what, total):
        self.tasks.append((what, total))
        self.shown[len(self.tasks) - 1] = what
        return len(self.tasks) - 1

    def update(self, task, completed, total, description=None):
        self.updates.append((task, completed, total))
        self.described[task] = description

    def remove_task(self, task):
        del self.shown[task]


def test_the_bar_makes_one_task_for_each_work():
    display = Display()
    bar = Bar(display)
    bar.step("reading", 1, 0)
    bar.step("training", 1, 10)
    bar.step("training", 2, 10)
    assert display.tasks == [("reading", None), ("training", 10)]
    assert display.updates == [(0, 1, None), (1, 1, 10), (1, 2, 10)]


def test_a_bar_tells_the_time_left_in_all():
    display = Display()
    bar = Bar(display)
    for number in (1, 2):
        bar.step(WHOLE, 20 * number, 130)
        bar.step(f"part {number}", 5, 5)
        assert next(iter(display.shown.values())) == WHOLE  # it stays
    assert display.described[0] == "in all about 90 s left"


def test_what_is_done_makes_room_for_what_begins():
    display = Display()
    bar = Bar(display)
    bar.step("reading", 10, 10)
    assert list(display.shown.values()) == ["reading"]  # until there is something else to see
    bar.step("trees", 0, 3)
    for part in range(1, 4):
        bar.step(f"part {part} of 3", 1, 2)
        assert list(display.shown.values()) == ["trees", f"part {part} of 3"]
        bar.step(f"part {part} of 3", 2, 2)
        bar.step("trees", part, 3)
    bar.step("reading", 1, 10)  # what comes again gets a bar again
    assert list(display.shown.values()) == ["reading"]


def test_where_it_is_shown(monkeypatch):
    with shown(quiet=True) as progress:
        assert progress is SILENT
    with shown() as progress:
        assert isinstance(progress, Lines)

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with shown() as progress:
        assert isinstance(progress, Bar)
        progress.step("training trees", 3, 4)
    assert "training trees" in terminal.getvalue()
