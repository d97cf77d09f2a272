"""Keeps calls in a folder while the service is away: those that no longer fit in memory, and what waits at the end."""

import os
import time
import uuid
from typing import List, Optional, Tuple

_BYTES_MAX = 256 * 1024 * 1024
_SUFFIX = ".ndjson"


class Spool:
    """Several processes may share the folder: a call that two of them send is one, by its id."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def keep(self, lines: List[bytes]) -> int:
        """Returns how many calls are kept: all, or none where the folder is full or cannot be written."""
        name = os.path.join(self._folder, "%d-%s" % (time.time_ns(), uuid.uuid4()))
        try:
            os.makedirs(self._folder, exist_ok=True)
            data = b"\n".join(lines)
            with os.scandir(self._folder) as files:
                if sum(file.stat().st_size for file in files) + len(data) > _BYTES_MAX:
                    return 0
            with open(name, "xb") as file:
                file.write(data)
            # Only a whole file is read.
            os.replace(name, name + _SUFFIX)
            return len(lines)
        except OSError:
            return 0

    def first(self) -> Optional[Tuple[str, List[bytes]]]:
        """The oldest file and its calls."""
        try:
            names = [name for name in os.listdir(self._folder) if name.endswith(_SUFFIX)]
            if not names:
                return None
            path = os.path.join(self._folder, min(names))
            with open(path, "rb") as file:
                return path, file.read().splitlines()
        except OSError:
            return None

    def remove(self, path: str) -> None:
        try:
            os.remove(path)
        except OSError:
            pass  # Another process has sent it.
