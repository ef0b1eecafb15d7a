"""What the commands of this folder share: what they say, and how they say what a person can mend."""

import sys
from collections.abc import Callable
from pathlib import Path

from vatex_jax.errors import VatexError


def answer(act: Callable[[], object], out: Path | None = None) -> int:
    """Runs a command and prints what it returns; the exit status, 2 after an error of the person's.

    Args:
        act: the command.
        out: the picture it writes, named where it cannot be written; None for commands that write several files.
    """
    try:
        print(act())
    except VatexError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""  # a full disk names none
        told = f"{where}{error.strerror or error}"
        if out is not None:
            told = f"--out={out}: cannot be written ({error.strerror or error})."
        print(f"error: {told}", file=sys.stderr)
        return 2
    return 0
