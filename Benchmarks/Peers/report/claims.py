"""The sentences that the README repeats, both good and bad ones. They depend only on the figures."""

from .results import is_right, milliseconds, number

# How a sentence names a peer.
NAMES = {
    "brocot-daemon": "through the daemon", "brocot-now": "with `move_now`", "brocot-library": "with the Swift library",
    "double-midpoint": "with a double midpoint", "gapped-bigint": "with gaps between integers", "string-keys": "with string keys",
    "pg-rational": "with pg_rational", "wiki-pairs": "with the wiki's fractions", "acts-as-list": "with acts_as_list",
    "django-ordered-model": "with django-ordered-model",
}


def claims(results):
    return [sentence for make in (_speeds, _breaking, _cost, _latency) for sentence in make(results)]


def _speeds(results):
    for workload in results.workloads("sessions") + results.workloads("random")[-1:]:
        peers = workload["peers"]
        speeds = ", ".join(
            f"{number(peers[key]['per_second'])} {name}" + ("" if is_right(peers[key]) else " (which went wrong)")
            for key, name in NAMES.items() if peers.get(key, {}).get("per_second"))
        sessions = ", one session" if workload["sessions"] == 1 else ""
        missing = [name.removeprefix("with ") for key, name in NAMES.items() if "missing" in peers.get(key, {})]
        yield f"{workload['title']}{sessions}, moves a second: {speeds}." + (f" Missing: {', '.join(missing)}." if missing else "")


def _breaking(results):
    if not results.workloads(*_ORDERED):
        return
    failed = [f"{name.removeprefix('with ')} ({count} of {len(tried)})" for name, tried in _tried(results) if (count := sum(map(bool, tried)))]
    yield f"Went wrong or broke in some workloads: {', '.join(failed) or 'none'}. All others kept the right order in all of them."


def failures(results):
    """A sentence for each peer that went wrong or broke: in which workloads, and when."""
    for name, tried in _tried(results):
        if where := [place for place in tried if place]:
            yield f"{name.removeprefix('with ')}: {', '.join(where)}."


# The beginnings of the names of workloads that check the order.
_ORDERED = ("sessions", "random", "one-spot", "zigzag", "prepend", "recorded")


def _tried(results):
    """Each peer's name, and for each workload that it tried where it failed, or None."""
    for key, name in NAMES.items():
        tried = [
            None if is_right(figures) else _failure(workload, figures) for workload in results.workloads(*_ORDERED)
            if (figures := workload["peers"].get(key)) and "missing" not in figures]
        if tried:
            yield name, tried


def _place(workload):
    words = workload["title"].replace(":", "").replace(",", " in", 1)
    return words[0].lower() + words[1:]


def _failure(workload, figures):
    place = _place(workload)
    if figures.get("wrong"):
        return place + (f" from move {figures['wrong_from']:,} on" if figures.get("wrong_from") else "")
    return f"{place} after {figures['broke']['after']:,} moves"


def _cost(results):
    workload = results.workload("random-10000")
    if workload:
        parts = [
            f"{number(figures['rows_per_move'])} and {number(figures['wal_per_move'])} bytes {NAMES[key]}"
            for key in ("brocot-daemon", "brocot-now", "double-midpoint", "django-ordered-model")
            if (figures := workload["peers"].get(key, {})).get("wal_per_move")]
        yield f"Rows of the table and write-ahead log of a random move in a list of 10,000: {', '.join(parts)}."


def _latency(results):
    stored = results.jobs()
    if figures := stored and stored["peers"].get("brocot"):
        yield (
            f"A request that comes to an idle daemon is applied after {milliseconds(figures['p50'])} ms (median) or "
            f"{milliseconds(figures['p99'])} ms (99th percentile).")
