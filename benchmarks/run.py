"""Every speed benchmark, one after the other: what `make bench` runs. `--quick` asks each for its small version."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

SPEED = Path(__file__).parent / "speed"


def scripts(only: list[str]) -> list[Path]:
    """The benchmark scripts in order of name; SystemExit if one of `only` does not exist."""
    known = {path.stem: path for path in sorted(SPEED.glob("*.py")) if not path.stem.startswith("_")}
    unknown = [name for name in only if name not in known]
    if unknown:
        raise SystemExit(f"unknown benchmark {unknown[0]!r} (known: {', '.join(known)})")
    return [path for name, path in known.items() if not only or name in only]


def takes_quick(script: Path) -> bool:
    return '"--quick"' in script.read_text()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("only", nargs="*", help="names of scripts in benchmarks/speed (default: all)")
    parser.add_argument("--quick", action="store_true", help="small sizes; scripts without such a version are left out")
    given = parser.parse_args()
    failed = []
    for script in scripts(given.only):
        if given.quick and not takes_quick(script):
            print(f"== {script.stem}: no quick version, left out\n", flush=True)
            continue
        print(f"== {script.stem}", flush=True)
        if subprocess.run([sys.executable, str(script), *(["--quick"] if given.quick else [])]).returncode:
            failed.append(script.stem)
        print(flush=True)
    if failed:
        print(f"failed: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
