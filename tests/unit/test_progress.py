"""Progress: silent by default, a callback where somebody listens."""

from labelwood.progress import SILENT, Callback


def test_silent_takes_everything():
    SILENT.step("reading", 0, 0)


def test_callback_passes_every_report_on():
    seen = []
    progress = Callback(lambda *report: seen.append(report))
    progress.step("reading", 1, 10)
    progress.step("training", 0, 0)
    assert seen == [("reading", 1, 10), ("training", 0, 0)]
