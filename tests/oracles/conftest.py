"""What the comparisons with slow twins share."""

import pytest

from labelwood import _native


@pytest.fixture(params=_native.simd_levels())
def level(request):
    """Each instruction level of this CPU in turn; the one in use comes back afterwards."""
    kept = _native.simd_level()
    assert _native.use_simd_level(request.param)
    yield request.param
    assert _native.use_simd_level(kept)
