from django.db import models


class RankField(models.DecimalField):
    """The sort key that Brocot writes: a numeric without bounds, which no double can hold."""

    def __init__(self, **options):
        super().__init__(**{"null": True, "editable": False, "max_digits": 60, "decimal_places": 38, **options})

    def db_type(self, connection):
        return "numeric"


class Column(models.Model):
    name = models.TextField()


class Card(models.Model):
    column = models.ForeignKey(Column, on_delete=models.CASCADE)
    title = models.TextField()
    rank = RankField()

    class Meta:
        ordering = ["rank"]
