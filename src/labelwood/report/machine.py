"""The machine card: on what a measurement was made, so that figures of two machines are not taken for one."""

from __future__ import annotations

import os
import platform
from importlib import metadata
from pathlib import Path
from typing import Any

PACKAGES = ("labelwood", "numpy", "scipy", "torch", "transformers", "faiss-cpu")


def machine_card(n_threads: int | None = None) -> dict[str, Any]:
    """System, processor, memory, threads and the versions of the packages that matter and are installed."""
    return {
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "processor": _processor(),
        "processors": os.cpu_count(),
        "usable_processors": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_bytes": _memory_bytes(),
        "threads": n_threads,
        "python": platform.python_version(),
        "versions": _versions(),
    }


def _processor() -> str:
    file = Path("/proc/cpuinfo")
    if file.is_file():
        for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor() or "unknown"


def _memory_bytes() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # Windows has no sysconf
        return None


def _versions() -> dict[str, str]:
    from labelwood import __version__

    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = __version__ if name == "labelwood" else metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions
