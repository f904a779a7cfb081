"""Moves that make a gap narrower and narrower, or go to one end."""

from harness.moves import Move, item_name

from .workload import Workload


class Narrow(Workload):
    items = 10_000
    limit = 2_000

    def moved(self):
        """The items that are moved, from the end of the list on."""
        for position in range(self.items - 1, self.items - 1 - self.limit, -1):
            yield item_name(1, position, self.items)


class OneSpot(Narrow):
    title = "One spot"
    what = "2,000 items of a list of 10,000, one after the other, go directly behind the same item in its middle."

    def moves(self, session):
        anchor = item_name(1, self.items // 2, self.items)
        for item in self.moved():
            yield Move("l1", item, anchor)


class Zigzag(Narrow):
    title = "Zigzag"
    what = (
        "2,000 items of a list of 10,000, one after the other, go between the two that were placed last, in turn behind the one and "
        "before the other. No other way uses up the room in a gap as fast.")

    def moves(self, session):
        lower = item_name(1, self.items // 2, self.items)
        for number, item in enumerate(self.moved()):
            yield Move("l1", item, lower)
            if number % 2:
                lower = item


class Prepend(Narrow):
    title = "Prepend"
    what = "2,000 items of a list of 10,000, one after the other, from its end to its beginning."

    def moves(self, session):
        for item in self.moved():
            yield Move("l1", item, None)
