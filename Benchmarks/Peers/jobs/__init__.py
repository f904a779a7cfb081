"""All job queues, in the order of the report."""

from .brocot import BrocotJobs
from .pgq import PgQ
from .pgqueuer import PgQueuerJobs
from .procrastinate import Procrastinate

QUEUES = {"brocot": BrocotJobs, "procrastinate": Procrastinate, "pgqueuer": PgQueuerJobs, "pgq": PgQ}
