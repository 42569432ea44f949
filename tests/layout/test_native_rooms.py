"""Layout of the native code: folders named as the Python rooms they serve, and Python known to the bindings alone."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
NATIVE, SOURCE = ROOT / "native", ROOT / "src" / "labelwood"


def sources():
    return sorted(path for path in NATIVE.rglob("*.?pp"))


def test_folders_have_the_names_of_rooms():
    folders = {path.parent.relative_to(NATIVE) for path in sources()}
    for folder in folders - {Path(), Path("bind")}:
        room = folder.parent if folder.name == "hot" else folder
        served = SOURCE / room
        assert served.is_dir() or served.with_suffix(".py").exists(), f"native/{folder} serves no room"


def test_only_bindings_know_python():
    for path in sources():
        is_binding = path.name.startswith("bind_") or path.parent.name == "bind"
        assert is_binding or "nanobind" not in path.read_text(), f"{path} is a kernel, but knows Python"


def test_hot_kernels_share_no_inline_code_with_the_others():
    """Inline code of a shared header would be kept once for all instruction levels, and crash on older processors."""
    for path in sources():
        if path.parent.name == "hot":
            assert '#include "parallel.hpp"' not in path.read_text(), f"{path} must include interrupt.hpp instead"
