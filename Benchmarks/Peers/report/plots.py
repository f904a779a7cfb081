"""Plots of the report, as SVG."""

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams.update({"svg.hashsalt": "brocot", "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 9})

from matplotlib import pyplot  # noqa: E402

from .results import is_brocot, is_right, number, title  # noqa: E402

OURS, OTHERS, WRONG = "#b5451b", "#7d93a8", "#d9d9d9"


def speeds(workloads, path):
    """A panel of bars for each workload."""
    figure, panels = pyplot.subplots(len(workloads), 1, figsize=(8, 3 * len(workloads)), squeeze=False)
    for workload, (panel,) in zip(workloads, panels):
        bars(panel, workload["peers"], "per_second", f"{workload['title']}: moves a second (gray: with a wrong order or an error)")
    save(figure, path)


def log_bytes(workloads, path):
    figure, panels = pyplot.subplots(len(workloads), 1, figsize=(8, 3 * len(workloads)), squeeze=False)
    for workload, (panel,) in zip(workloads, panels):
        bars(panel, workload["peers"], "wal_per_move", f"{workload['title']}: bytes of write-ahead log for each move")
    save(figure, path)


def jobs(stored, path):
    figure, panel = pyplot.subplots(figsize=(8, 2))
    bars(panel, stored["peers"], "per_second", "Jobs that do nothing: done a second by one worker")
    save(figure, path)


def bars(panel, peers, figure, heading):
    """Bars on a logarithmic axis, since the peers differ by thousands of times."""
    shown = [(key, figures) for key, figures in reversed(peers.items()) if figures.get(figure)]
    for place, (key, figures) in enumerate(shown):
        colour = (OURS if is_brocot(key) else OTHERS) if is_right(figures) else WRONG
        panel.barh(place, figures[figure], color=colour)
        panel.annotate(number(figures[figure]), (figures[figure], place), xytext=(4, 0), textcoords="offset points", va="center")
    panel.set_yticks(range(len(shown)), [title(key) for key, _ in shown])
    panel.set_xscale("log")
    panel.margins(x=0.15)
    panel.set_title(heading, loc="left")
    panel.spines[["top", "right"]].set_visible(False)


def sizes(workloads, path):
    """A line for each peer: speed by the length of the list."""
    figure, panel = pyplot.subplots(figsize=(8, 4.5))
    lengths = [int(workload["title"].rsplit(" ", 1)[-1].replace(",", "")) for workload in workloads]
    markers = iter("os^Dv<>pX*")
    for key in workloads[0]["peers"]:
        points = [
            (length, workload["peers"][key]["per_second"]) for length, workload in zip(lengths, workloads)
            if workload["peers"].get(key, {}).get("per_second")]
        if points:
            panel.plot(*zip(*points), marker=next(markers), label=title(key), color=OURS if is_brocot(key) else None,
                       linewidth=2 if is_brocot(key) else 1)
    panel.set_xscale("log")
    panel.set_yscale("log")
    panel.set_xticks(lengths, [f"{length:,}" for length in lengths])
    panel.minorticks_off()
    panel.set_xlabel("items of the list")
    panel.set_title("Random moves a second, one session", loc="left")
    panel.spines[["top", "right"]].set_visible(False)
    panel.legend(bbox_to_anchor=(1.02, 1), loc="upper left", frameon=False)
    save(figure, path)


def save(figure, path):
    # A white background, also where the page is dark. No date, so that the same figures give the same file.
    figure.savefig(path, bbox_inches="tight", facecolor="white", metadata={"Date": None})
    pyplot.close(figure)
