from django.apps import AppConfig


class Ordering(AppConfig):
    name = "peers.django_app"
    label = "ordering"
