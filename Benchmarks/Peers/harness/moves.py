"""Moves, and a plain list that has the right order after them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Move:
    """An item goes directly behind another one, or to the beginning. An item that the list lacks is inserted there."""

    list: str
    item: str
    anchor: str | None
    remove: bool = False


class PlainList:
    """The order that a list must have: a linked list, so that a move in a million items costs the same as in ten."""

    def __init__(self, items):
        items = list(items)
        self._next = dict(zip([None, *items], [*items, None]))
        self._previous = dict(zip([*items, None], [None, *items]))

    def apply(self, move):
        if move.anchor == move.item:
            return
        if move.item in self._previous:
            self._unlink(move.item)
        if not move.remove:
            after = self._next[move.anchor]
            self._next[move.anchor], self._next[move.item] = move.item, after
            self._previous[move.item], self._previous[after] = move.anchor, move.item

    def _unlink(self, item):
        before, after = self._previous.pop(item), self._next.pop(item)
        self._next[before], self._previous[after] = after, before

    def order(self):
        items, item = [], self._next[None]
        while item is not None:
            items.append(item)
            item = self._next[item]
        return items


def list_name(number):
    return f"l{number}"


def item_name(list_number, position, items):
    """Names are unique in all lists: some peers need an identifier of its own for each row. Positions count from 0."""
    return f"i{(list_number - 1) * items + position}"


def filled(lists, items):
    """The order of each list before the first move."""
    return {
        list_name(number): PlainList(item_name(number, position, items) for position in range(items))
        for number in range(1, lists + 1)
    }
