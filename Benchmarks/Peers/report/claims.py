"""The sentences that the README repeats, for good or bad. They are made of the figures alone."""

from .results import is_right, milliseconds, number

# How a sentence names a peer.
NAMES = {
    "brocot-daemon": "through the daemon", "brocot-now": "with `move_now`", "brocot-library": "with the Swift library",
    "double-midpoint": "with a double midpoint", "gapped-bigint": "with gaps between integers", "string-keys": "with string keys",
    "pg-rational": "with pg_rational", "wiki-pairs": "with the wiki's fractions", "acts-as-list": "with acts_as_list",
    "django-ordered-model": "with django-ordered-model",
}


def claims(results):
    return [sentence for make in (_speeds, _at_once, _breaking, _cost, _latency) for sentence in make(results)]


def _speeds(results):
    for workload in results.workloads("sessions") + results.workloads("random")[-1:]:
        peers = workload["peers"]
        speeds = ", ".join(
            f"{number(peers[key]['per_second'])} {name}" + ("" if is_right(peers[key]) else " (which went wrong)")
            for key, name in NAMES.items() if peers.get(key, {}).get("per_second"))
        sessions = ", one session" if workload["sessions"] == 1 else ""
        yield f"{workload['title']}{sessions}, moves a second: {speeds}."


def _at_once(results):
    """How fast `move_now` is beside the double midpoint, whose SQL function checks and logs nothing."""
    ratios = []
    for key, place in (("sessions-1", "one list"), ("sessions-64", "64 lists")):
        peers = (results.workload(key) or {}).get("peers", {})
        ours, theirs = (peers.get(one, {}).get("per_second") for one in ("brocot-now", "double-midpoint"))
        if ours and theirs:
            ratios.append(f"{number(ours / theirs)} on {place}")
    if ratios:
        yield f"Eight sessions, moves of `move_now` as a ratio to those of the double midpoint: {', '.join(ratios)}."


def _breaking(results):
    workloads = results.workloads("sessions", "random", "one-spot", "zigzag", "prepend", "recorded")
    if not workloads:
        return
    failed = []
    for key, name in NAMES.items():
        where = [
            _failure(workload, figures) for workload in workloads
            if (figures := workload["peers"].get(key)) and "missing" not in figures and not is_right(figures)]
        if where:
            failed.append(f"{name.removeprefix('with ')} ({', '.join(where)})")
    tried = "; ".join(_place(workload) for workload in workloads)
    yield f"Went wrong or broke: {'; '.join(failed) or 'none'}. All others kept the right order. Tried were: {tried}."


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
