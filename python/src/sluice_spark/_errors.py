"""The one exception of this package."""


class SluiceError(RuntimeError):
    """Sluice cannot be used as asked; the message says why, and what to do."""
