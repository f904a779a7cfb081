"""Recordings of people who edit: each character is an item, inserted behind the one before it, or removed."""

import gzip
import json
from pathlib import Path

from harness.moves import Move

from .workload import Workload


class Recorded(Workload):
    def __init__(self, path, limit):
        self.name = path.name.split(".")[0]
        super().__init__(f"recorded-{self.name}")
        self.title = f"Recorded editing: {self.name}"
        self.what = f"The first {limit:,} inserts and deletions of the recording `{self.name}`, character by character, from an empty list."
        self._path, self._limit, self._moves = path, limit, None

    def moves(self, session):
        if self._moves is None:
            self._moves = [move for move, _ in zip(self._read(), range(self._limit))]
        return iter(self._moves)

    def _read(self):
        recording = json.loads(gzip.decompress(self._path.read_bytes()))
        items, number = [], 0
        for character in recording["startContent"]:
            number += 1
            yield Move("l1", f"c{number}", items[-1] if items else None)
            items.append(f"c{number}")
        for patches in (transaction["patches"] for transaction in recording["txns"]):
            for position, deleted, inserted in patches:
                for item in items[position:position + deleted]:
                    yield Move("l1", item, None, remove=True)
                names = [f"c{number + offset}" for offset in range(1, len(inserted) + 1)]
                number += len(names)
                items[position:position + deleted] = names
                for offset, name in enumerate(names, position):
                    yield Move("l1", name, items[offset - 1] if offset else None)


def recordings(folder, limit):
    """The recordings of a folder; none where it is missing."""
    return [Recorded(path, limit) for path in sorted(Path(folder).glob("*.json.gz"))] if folder else []
