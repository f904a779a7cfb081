"""Lists and items of an application that uses django-ordered-model."""

from django.db import models
from ordered_model.models import OrderedModelBase


class List(models.Model):
    id = models.CharField(primary_key=True, max_length=40, db_collation="C")


class Item(OrderedModelBase):
    # The foreign key needs no index of its own: the index of list and position has the same first column.
    list = models.ForeignKey(List, on_delete=models.CASCADE, db_index=False)
    id = models.CharField(primary_key=True, max_length=40, db_collation="C")
    position = models.PositiveIntegerField(editable=False)
    order_field_name = "position"
    order_with_respect_to = "list"

    class Meta:
        ordering = ("position",)
        indexes = [models.Index(fields=["list", "position"], name="item_by_position")]
