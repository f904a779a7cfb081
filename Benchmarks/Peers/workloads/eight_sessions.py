"""Eight sessions that move at the same time.

Who comes first is up to the server, and still the result can be checked exactly: each session moves only items of its own, behind
others of its own or, one time in ten, behind one of the items that stand still and serve all sessions. So the order of a session's
items and of those that stand still depends on that session alone.
"""

from harness.moves import Move, PlainList, item_name, list_name

from .workload import Workload

# Lehmer's generator, because pgbench can compute it too: the moves are the same however they are sent.
MULTIPLIER, MODULUS, FIRST, STEP = 48271, 2147483647, 12345, 7919


class EightSessions(Workload):
    sessions = 8
    durable = True
    repeated = True

    def __init__(self, key, lists, items):
        super().__init__(key)
        self.lists, self.items = lists, items
        where = "one list" if lists == 1 else f"{lists} lists"
        self.title = f"Eight sessions, {where} of {items:,}"
        self.what = f"Eight sessions move random items of {where} of {items:,} at the same time, durably, with a transaction for each move."
        # No session moves every ninth item. All other items belong to the sessions in turn.
        self.each = items // (self.sessions + 1)

    def moves(self, session):
        drawn = self._numbers(session)
        while True:
            number, own, hop, shared = (next(drawn) for _ in range(4))
            number, own = 1 + number % self.lists, own % self.each
            if shared % 10 == 0:
                anchor = self._name(number, -1, hop % self.each)
            else:
                anchor = self._name(number, session, (own + 1 + hop % (self.each - 1)) % self.each)
            yield Move(list_name(number), self._name(number, session, own), anchor)

    def _numbers(self, session):
        value = FIRST + STEP * session
        while True:
            value = value * MULTIPLIER % MODULUS
            yield value

    def _name(self, number, session, position):
        return item_name(number, (self.sessions + 1) * position + session + 1, self.items)

    def own(self, session):
        """The items of a session and the items that no session moves, in their order at first, by list."""
        return {
            list_name(number): PlainList(
                self._name(number, owner, position) for position in range(self.each) for owner in (-1, session))
            for number in range(1, self.lists + 1)
        }

    @property
    def pgbench_variables(self):
        return {"lists": self.lists, "items": self.items, "each": self.each, "owners": self.sessions + 1, "drawn": 0}

    # The same moves as those of `moves`. A move that is tried again after a deadlock is the same one: `drawn` still has its value.
    pgbench_script = f"""\
\\set value CASE WHEN :drawn = 0 THEN {FIRST} + {STEP} * :client_id ELSE :drawn END
\\set value :value * {MULTIPLIER} % {MODULUS}
\\set list 1 + :value % :lists
\\set value :value * {MULTIPLIER} % {MODULUS}
\\set own :value % :each
\\set value :value * {MULTIPLIER} % {MODULUS}
\\set hop :value
\\set value :value * {MULTIPLIER} % {MODULUS}
\\set base (:list - 1) * :items
\\set item :base + :owners * :own + :client_id + 1
\\set behind_own :base + :owners * ((:own + 1 + :hop % (:each - 1)) % :each) + :client_id + 1
\\set anchor CASE WHEN :value % 10 = 0 THEN :base + :owners * (:hop % :each) ELSE :behind_own END
{{statement}};
\\set drawn :value
"""
