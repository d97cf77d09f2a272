"""Keeps calls in a folder while the service cannot be reached: those that no longer fit in memory, and what waits at the end."""

import contextlib
import os
import re
import time
import uuid
from typing import List, Optional, Tuple

_BYTES_MAX = 256 * 1024 * 1024
_SUFFIX = ".ndjson"
# Still being written; after this time its writer has ended.
_PARTIAL = re.compile(r"\d{19,}-[0-9a-f-]{36}\Z")
_PARTIAL_SECONDS = 3600


class Spool:
    """Several processes may share the folder: a call that two of them send is one, by its id."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def keep(self, lines: List[bytes]) -> int:
        """Returns how many calls are kept: all, or none where the folder is full or cannot be written."""
        name = os.path.join(self._folder, "%d-%s" % (time.time_ns(), uuid.uuid4()))
        try:
            # Who pays for what is nobody else's to read.
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            data = b"\n".join(lines)
            if self._bytes() + len(data) > _BYTES_MAX:
                return 0
            with open(name, "xb", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
                file.write(data)
            # Only a whole file is read.
            os.replace(name, name + _SUFFIX)
            return len(lines)
        except OSError:
            self.remove(name)
            return 0

    def _bytes(self) -> int:
        """Of all files, without those that nobody will finish."""
        size = 0
        with os.scandir(self._folder) as files:
            for file in files:
                # Another process may remove it meanwhile.
                with contextlib.suppress(OSError):
                    stat = file.stat()
                    if _PARTIAL.match(file.name) and time.time() - stat.st_mtime > _PARTIAL_SECONDS:
                        os.remove(file.path)
                    else:
                        size += stat.st_size
        return size

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
            pass  # Another process has sent it, or it was never written.
