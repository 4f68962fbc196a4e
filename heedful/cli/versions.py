"""What `heedful --version` prints: the versions on which a result may depend, read without importing anything heavy."""

import platform
from importlib.metadata import PackageNotFoundError, version

from heedful import __version__

DECISIVE = ("torch", "transformers", "polars", "dask")
"""The packages that compute, load, store and distribute."""


def versions() -> dict[str, str]:
    """The versions of Heedful, of Python and of what is installed of the packages that matter."""
    by_name = {"heedful": __version__, "python": platform.python_version()}
    for name in DECISIVE:
        try:
            by_name[name] = version(name)
        except PackageNotFoundError:
            by_name[name] = "not installed"
    return by_name


def version_lines() -> str:
    """One line a package, for a report of an error or for a paper."""
    return "\n".join(f"{name} {number}" for name, number in versions().items())
