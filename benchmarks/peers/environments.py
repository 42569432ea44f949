"""One virtual environment per peer, with pinned versions, below the benchmark cache.

    python benchmarks/peers/environments.py [pecos omikuji napkinxc fasttext libmultilabel]

The cache is LABELWOOD_BENCH_CACHE, or ~/.cache/labelwood-bench. An environment whose pins and Python have not
changed is left as it is, so that running this twice costs nothing.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

# Installed step by step: libpecos asks for any torch, and a pin of its own lets pip take the CPU build that is at hand.
# numpy stays below 2: the peers' compiled code was built against numpy 1.
STEPS: dict[str, tuple[tuple[str, ...], ...]] = {
    "pecos": (("torch==2.13.0",), ("libpecos==1.2.8", "numpy==1.26.4", "scipy==1.13.1")),
    "omikuji": (("omikuji==0.5.2", "numpy==1.26.4", "scipy==1.17.1"),),
    "napkinxc": (("napkinxc==0.7.2", "numpy==1.26.4", "scipy==1.17.1"),),
    "fasttext": (("fasttext-wheel==0.9.2", "numpy==1.26.4", "scipy==1.17.1"),),
    "libmultilabel": (("torch==2.13.0",), ("libmultilabel==0.10.0",)),
}
# A wheel is enough to import each peer; this import proves that the environment works before it is stamped.
PROBES = {
    "pecos": "import pecos.xmc.xlinear.model",
    "omikuji": "import omikuji, scipy.sparse",
    "napkinxc": "import napkinxc.models, scipy.sparse",
    "fasttext": "import fasttext, scipy.sparse",
    "libmultilabel": "import libmultilabel.linear, scipy.sparse",
}


def cache_folder() -> Path:
    """The folder for environments, matrices, models and results."""
    return Path(os.environ.get("LABELWOOD_BENCH_CACHE", Path.home() / ".cache" / "labelwood-bench")).absolute()


def environment_python(tool: str) -> Path:
    """The Python of a peer's environment, which is made first if it is missing or its pins have changed."""
    if tool not in STEPS:
        raise SystemExit(f"unknown peer {tool!r}; known: {', '.join(STEPS)}")
    folder = cache_folder() / "environments" / tool
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    stamp = folder / "installed.txt"
    wanted = f"{sys.version}\n{STEPS[tool]}\n"
    if stamp.is_file() and stamp.read_text() == wanted:
        return python
    shutil.rmtree(folder, ignore_errors=True)
    print(f"making {folder}", file=sys.stderr, flush=True)
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    for step in STEPS[tool]:
        pip = [str(python), "-m", "pip", "--disable-pip-version-check", "-q", "install", *step]
        subprocess.run(pip, check=True)
    subprocess.run([str(python), "-c", PROBES[tool]], check=True)
    stamp.write_text(wanted)
    return python


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tools", nargs="*", default=list(STEPS), help=f"any of {', '.join(STEPS)}; all if left out")
    for tool in parser.parse_args().tools:
        print(environment_python(tool))


if __name__ == "__main__":
    main()
