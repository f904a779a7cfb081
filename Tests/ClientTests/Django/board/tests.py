"""Moves in transactions that Django rolls back after each test. No daemon runs."""

import pytest
from django.db import DatabaseError, connection, transaction
from django.test import TestCase

from board.models import Card, Column


def call(function, *arguments, **named):
    """Calls a function of schema brocot, such as call("move", 7, 42, first=True)."""
    placeholders = ["%s"] * len(arguments) + [f"{name} => %s" for name in named]
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT brocot.{function}({', '.join(placeholders)})", [*arguments, *named.values()])
        return cursor.fetchone()[0]


class CardTests(TestCase):
    def setUp(self):
        # The order is empty again in each test: what the one before did is rolled back.
        self.assertEqual(Card.objects.count(), 0)
        self.todo = Column.objects.create(name="to do")
        self.done = Column.objects.create(name="done")
        self.milk, self.eggs, self.bread = (
            Card.objects.create(column=self.todo, title=title) for title in ["milk", "eggs", "bread"]
        )

    def titles(self, column):
        return list(Card.objects.filter(column=column).values_list("title", flat=True))

    def test_new_cards_are_placed_at_once(self):
        self.assertEqual(self.titles(self.todo), ["milk", "eggs", "bread"])
        self.bread.refresh_from_db()
        self.assertEqual(self.bread.rank, 2)

    def test_the_queue_is_applied_in_the_tests_own_transaction(self):
        request = call("move", self.todo.id, self.bread.id, before=self.eggs.id, ordered_table="public.board_card")
        self.assertEqual(self.titles(self.todo), ["milk", "eggs", "bread"])
        self.assertEqual(call("apply_pending"), 1)
        self.assertEqual(self.titles(self.todo), ["milk", "bread", "eggs"])
        self.assertEqual(call("request_status", request), ("applied", None, None))

    def test_a_move_now_is_seen_at_once_and_a_stale_save_undoes_nothing(self):
        call("move_now", self.todo.id, self.bread.id, first=True, ordered_table="public.board_card")
        self.assertEqual(self.titles(self.todo), ["bread", "milk", "eggs"])
        self.bread.title = "rye bread"
        self.bread.save()
        self.assertEqual(self.titles(self.todo), ["rye bread", "milk", "eggs"])
        self.milk.column = self.done
        self.milk.save()
        self.assertEqual(self.titles(self.done), ["milk"])

    def test_pages_follow_each_other(self):
        call("move_now", self.todo.id, self.bread.id, after=self.milk.id, ordered_table="public.board_card")
        first = Card.objects.filter(column=self.todo).order_by("rank")[:2]
        self.assertEqual([card.title for card in first], ["milk", "bread"])
        rest = Card.objects.filter(column=self.todo, rank__gt=first[1].rank).order_by("rank")
        self.assertEqual([card.title for card in rest], ["eggs"])

    def test_cards_that_are_there_already_are_left_alone(self):
        cards = [Card(id=self.milk.id, column=self.todo, title="x"), Card(column=self.todo, title="tea")]
        Card.objects.bulk_create(cards, ignore_conflicts=True)
        self.assertEqual(self.titles(self.todo), ["milk", "eggs", "bread", "tea"])

    def test_a_rejection_leaves_the_transaction_usable_after_a_savepoint(self):
        with pytest.raises(DatabaseError) as caught, transaction.atomic():
            call("move_now", self.todo.id, self.bread.id, after=self.bread.id, ordered_table="public.board_card")
        self.assertEqual(caught.value.__cause__.sqlstate, "RK003")
        self.assertEqual(self.titles(self.todo), ["milk", "eggs", "bread"])


class FixtureTests(TestCase):
    fixtures = ["cards"]

    def test_cards_of_a_fixture_have_the_order_of_the_file(self):
        self.assertEqual(list(Card.objects.values_list("title", flat=True)), ["milk", "eggs", "bread"])
        self.assertEqual(Card.objects.filter(rank=None).count(), 0)
