"""Errors written for the person at the keyboard: what is wrong, in which file or field, and what to do.

The command lines print these without a traceback and exit with 2; anything else is a fault of ours and shows its own.
"""


class VatexError(Exception):
    """Base of every error this library raises on purpose."""


class DataError(VatexError):
    """A file, record or field of the data is missing or malformed."""


class ConfigError(VatexError):
    """A configuration field, mode or combination of them cannot be run."""


class CheckpointError(VatexError):
    """A checkpoint or work folder cannot be used with this configuration."""


class TrainingError(VatexError):
    """Training cannot go on, for example after a non-finite loss."""
