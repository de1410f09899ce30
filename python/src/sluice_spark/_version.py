"""The version of the package and of the jar in it; `./sluice release --check` holds both equal."""

__version__ = "0.1.0"
