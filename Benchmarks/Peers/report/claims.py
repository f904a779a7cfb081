"""The sentences that the README repeats, for good or bad. They are made of the figures alone."""

from .results import is_brocot, is_right, milliseconds, number, title

OTHERS_OF_SPEED = ["double-midpoint", "gapped-bigint", "string-keys", "acts-as-list", "django-ordered-model"]


def claims(results):
    return [sentence for make in (_sessions, _random, _breaking, _cost, _latency) for sentence in make(results)]


def _speeds(workload, keys):
    peers = workload["peers"]
    return ", ".join(
        f"{number(peers[key]['per_second'])} {title(key)}" + ("" if is_right(peers[key]) else " (with a wrong order or an error)")
        for key in keys if peers.get(key, {}).get("per_second"))


def _sessions(results):
    for workload in results.workloads("sessions"):
        ours = [key for key in workload["peers"] if is_brocot(key)]
        yield f"{workload['title']}, moves a second: {_speeds(workload, ours + OTHERS_OF_SPEED)}."


def _random(results):
    for workload in results.workloads("random")[-1:]:
        ours = [key for key in workload["peers"] if is_brocot(key)]
        yield f"{workload['title']}, one session, moves a second: {_speeds(workload, ours + OTHERS_OF_SPEED)}."


def _breaking(results):
    workloads = results.workloads("sessions", "random", "one-spot", "zigzag", "prepend", "recorded")
    failed = []
    for key in workloads[0]["peers"] if workloads else []:
        where = [
            _failure(workload, workload["peers"][key]) for workload in workloads
            if key in workload["peers"] and "missing" not in workload["peers"][key] and not is_right(workload["peers"][key])]
        if where:
            failed.append(f"{title(key)} ({', '.join(where)})")
    if workloads:
        kept = "A wrong order, or an error that ended the work: " + ("; ".join(failed) if failed else "none")
        yield f"{kept}. All others kept the right order in all {len(workloads)} workloads."


def _failure(workload, figures):
    place = workload["title"].split(":")[0].split(",")[0].lower()
    if figures.get("wrong"):
        return f"{place}: wrong" + (f" from move {figures['wrong_from']:,}" if figures.get("wrong_from") else "")
    return f"{place}: after {figures['broke']['after']:,} moves"


def _cost(results):
    workload = results.workload("random-10000")
    if workload:
        parts = [
            f"{title(key)} {number(figures['rows_per_move'])} rows of the table and {number(figures['wal_per_move'])} bytes"
            for key in ("brocot-daemon", "brocot-now", "double-midpoint", "django-ordered-model")
            if (figures := workload["peers"].get(key, {})).get("wal_per_move")]
        yield f"What a random move in a list of 10,000 writes, and its write-ahead log: {', '.join(parts)}."


def _latency(results):
    stored = results.jobs()
    figures = stored and stored["peers"].get("brocot")
    if figures:
        yield (
            f"A single move through an idle daemon is visible after {milliseconds(figures['p50'])} ms (median), "
            f"{milliseconds(figures['p99'])} ms (99th percentile).")
