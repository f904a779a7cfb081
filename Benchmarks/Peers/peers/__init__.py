"""All peers, in the order of the report."""

from .brocot import BrocotDaemon, BrocotLibrary, BrocotNow
from .django_ordered_model import DjangoOrderedModel
from .keys import StringKeys
from .rational import Rational
from .sql import ActsAsList, DoubleMidpoint, GappedBigint, WikiPairs

PEERS = {
    "brocot-daemon": BrocotDaemon,
    "brocot-now": BrocotNow,
    "brocot-library": BrocotLibrary,
    "django-ordered-model": DjangoOrderedModel,
    "acts-as-list": ActsAsList,
    "double-midpoint": DoubleMidpoint,
    "gapped-bigint": GappedBigint,
    "string-keys": StringKeys,
    "pg-rational": Rational,
    "wiki-pairs": WikiPairs,
}
