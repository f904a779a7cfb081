"""Modules of Python that peers need. `prepare` installs those that are available."""

from importlib.util import find_spec


def missing(modules):
    """Why a peer that imports these modules can't take part, or None."""
    absent = [module for module in modules if find_spec(module) is None]
    if absent:
        return f"PyPI's package for the module {' and '.join(absent)} could not be had"
