"""Moves of a random item behind another random item."""

import random

from harness.moves import Move, item_name

from .workload import Workload


class RandomMoves(Workload):
    repeated = True

    def __init__(self, key, items, is_read=False):
        super().__init__(key)
        self.items = items
        self.is_read = is_read
        self.title = f"Random moves, a list of {items:,}"
        self.what = f"One session puts random items of a list of {items:,} behind random other ones."

    def moves(self, session):
        numbers = random.Random(14)
        while True:
            item, hop = numbers.randrange(self.items), numbers.randrange(1, self.items)
            yield Move("l1", item_name(1, item, self.items), item_name(1, (item + hop) % self.items, self.items))
