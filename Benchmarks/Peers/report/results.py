"""The results that runs stored."""

import json

from jobs import QUEUES
from peers import PEERS


class Results:
    def __init__(self, folder):
        self._stored = {path.stem: json.loads(path.read_text()) for path in folder.glob("*.json")}
        if not self._stored:
            raise SystemExit(f"nothing was measured yet: {folder} has no results")
        self.command = "bench-quick" if folder.name == "quick" else "bench"

    def workloads(self, *beginnings):
        """The stored workloads whose names begin with these prefixes, in this order. Random moves are sorted by the length of the list."""
        return [
            workload for beginning in beginnings
            for _, workload in sorted(
                ((_last_number(key), key), workload) for key, workload in self._stored.items() if key.startswith(beginning))
        ]

    def workload(self, key):
        return self._stored.get(key)

    def jobs(self):
        return self._stored.get("jobs")

    def parts(self):
        return list(self._stored.values())


def _last_number(key):
    number = key.rsplit("-", 1)[-1]
    return int(number) if number.isdigit() else 0


def title(key):
    return (PEERS.get(key) or QUEUES[key]).title


def is_right(figures):
    """Whether a peer took part, and neither broke nor went wrong."""
    return "missing" not in figures and not figures.get("broke") and not figures.get("wrong")


def is_brocot(key):
    return key.startswith("brocot")


def number(value):
    """Three significant digits, for people."""
    if value is None:
        return "–"
    if value == 0:
        return "0"
    digits = max(0, 2 - _magnitude(value))
    rounded = round(value, digits if value < 1 else max(0, 2 - _magnitude(value)))
    if value >= 1000:
        scale = 10 ** (_magnitude(value) - 2)
        rounded = round(value / scale) * scale
    text = f"{rounded:,.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _magnitude(value):
    """The power of ten of the first digit."""
    return int(f"{abs(value):e}".split("e")[1])


def milliseconds(seconds):
    return "–" if seconds is None else number(seconds * 1000)
