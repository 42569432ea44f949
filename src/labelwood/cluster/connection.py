"""connected: a block whose work goes to a Ray cluster, and one clear line if there is none."""

from __future__ import annotations

import importlib.util
import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from labelwood.cluster.ray_spread import ClusterError, RaySpread
from labelwood.errors import ParamError
from labelwood.spreading import spread_over

AUTO = "auto"
SECONDS_TO_ANSWER = 5.0
# Set before ray is imported: no report of use to its makers, and nothing but what ends the run on stderr.
_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_USAGE_STATS_PROMPT_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_DEDUP_LOGS": "0",
}


@contextmanager
def connected(address: str) -> Iterator[RaySpread]:
    """Training in the block is spread over the cluster at an address: "auto" (one that runs here) or "HOST:PORT".

    ParamError if the address is none or ray is not installed, ClusterError if no cluster answers.
    """
    host_and_port = reachable(address)
    import ray

    if ray.is_initialized():
        raise ClusterError("this process is connected to a Ray cluster already: leave that one first (ray.shutdown())")
    try:
        ray.init(address=host_and_port, log_to_driver=False, logging_level=logging.CRITICAL, configure_logging=True)
    except Exception as error:  # Ray raises RuntimeError, ConnectionError, ValueError and its own for the same thing
        words = " ".join(str(error).split())
        raise ClusterError(f"no Ray cluster at {host_and_port}: {words:.300}") from None
    try:
        spread = RaySpread()
        with spread_over(spread):
            yield spread
    finally:
        ray.shutdown()


def reachable(address: str) -> str:
    """The HOST:PORT of an address, where somebody answers; errors as in `connected`, within seconds."""
    if importlib.util.find_spec("ray") is None:
        raise ParamError('a cluster needs Ray, which is not installed: pip install "labelwood[cluster]"')
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    host_and_port = _found_here() if address == AUTO else _checked(address)
    _knock(host_and_port, address)
    return host_and_port


def _checked(address: str) -> str:
    """The address, if it is HOST:PORT."""
    host, colon, port = address.rpartition(":")
    if "://" in address:
        raise ParamError(
            f"the cluster's address must be auto or HOST:PORT, but is {address!r}; run labelwood on a machine of the "
            "cluster, for example with `ray job submit`"
        )
    if not colon or not host or not (port.isascii() and port.isdigit()) or not 0 < int(port) < 65536:
        raise ParamError(f"the cluster's address must be auto or HOST:PORT such as 10.0.0.1:6379, but is {address!r}")
    return address


def _found_here() -> str:
    """The address of the cluster that runs on this machine, as Ray itself finds it."""
    given: Any = os.environ.get("RAY_ADDRESS")
    if given and given != AUTO:
        return _checked(given)
    from ray._private.services import canonicalize_bootstrap_address

    try:
        found = canonicalize_bootstrap_address(AUTO)
    except Exception:  # Ray's word for "none" has changed from version to version
        found = None
    if not found:
        raise ClusterError("no Ray cluster runs on this machine: start one with `ray start --head`, or give HOST:PORT")
    return str(found)


def _knock(host_and_port: str, asked: str) -> None:
    """Refuse an address where nobody answers: Ray itself would try for a minute."""
    host, _, port = host_and_port.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=SECONDS_TO_ANSWER).close()
    except OSError as error:
        where = host_and_port if asked != AUTO else f"{host_and_port} (found by 'auto')"
        raise ClusterError(f"no Ray cluster answers at {where}: {error.strerror or error}") from None
