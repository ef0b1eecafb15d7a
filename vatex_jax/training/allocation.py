"""Keeping freed memory: the buffers of a step are as large in the next one."""

import ctypes
import os
import sys

_TRIM_THRESHOLD, _MMAP_MAX, _ARENA_MAX = -1, -4, -8  # malloc.h


def keep_freed_memory() -> bool:
    """Tells glibc's malloc to keep what is freed; returns whether it could. To be called before JAX starts threads.

    XLA asks for a step's temporary buffers on the CPU anew in every step. What is larger than 32 MiB malloc maps anew
    each time, and the kernel hands it out page by page as it is touched: in a small captioner's step, whose buffers are
    34 MB, that took 40% of the time. Kept memory is at hand. Accelerators have allocators of their own; other systems
    and C libraries are left as they are, and so is a malloc that MALLOC_MMAP_MAX_ in the environment sets already.
    """
    if not sys.platform.startswith("linux") or "MALLOC_MMAP_MAX_" in os.environ:
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:  # musl
        return False
    # -1 is the largest threshold: never trimmed. One arena: those of other threads cannot grow beyond 64 MiB.
    return all([mallopt(_MMAP_MAX, 0), mallopt(_TRIM_THRESHOLD, -1), mallopt(_ARENA_MAX, 1)])
