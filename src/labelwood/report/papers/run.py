"""One run of an experiment, in a process of its own: train a model and measure it.

    python -m labelwood.report.papers.run TASK.json

Speaks to the parent process as labelwood.report.compare_run does.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from labelwood.models.registry import model_class
from labelwood.progress import Progress
from labelwood.report.compare_data import Parts, stored
from labelwood.report.compare_run import main
from labelwood.report.papers.experiment import ANSWERS
from labelwood.report.papers.measures import measured


def measure(task: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """The groups of figures of the model that the task tells; its training seconds are "train s" of ANSWERS."""
    data = Path(task["data"])
    parts = Parts(stored(data / "train"), stored(data / "test"))
    model = model_class(task["model"])(**task["parameters"])
    start = time.process_time()
    model.fit(parts.train, progress=progress)
    seconds = time.process_time() - start
    progress.step("measuring", 0, 0)
    first, second = task["propensity"]
    groups = measured(model, parts, (first, second))
    groups[ANSWERS][""]["train s"] = seconds
    return {"groups": groups}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], {"measure": measure}))
