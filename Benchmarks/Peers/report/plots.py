"""Plots of the report, as SVG."""

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams.update({"svg.hashsalt": "brocot", "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 9})

from matplotlib import pyplot  # noqa: E402

from .results import is_brocot, is_right, number, title  # noqa: E402

OURS, OTHERS = "#b5451b", "#54718c"


def speeds(workloads, path):
    """A panel for each workload."""
    panels(
        [(workload["peers"], "per_second", f"{workload['title']}: moves a second (hollow: went wrong or broke)") for workload in workloads],
        path)


def log_bytes(workload, path):
    panels([(workload["peers"], "wal_per_move", f"{workload['title']}: bytes of write-ahead log for each move")], path)


def jobs(stored, path):
    panels([(stored["peers"], "per_second", "Jobs that do nothing: done a second by one worker")], path)


def panels(contents, path):
    rows = [sum(1 for figures in peers.values() if figures.get(name)) for peers, name, _ in contents]
    figure, axes = pyplot.subplots(
        len(contents), 1, figsize=(8, 0.28 * sum(rows) + 0.9 * len(rows)), height_ratios=rows, squeeze=False, layout="constrained")
    for (axis,), content in zip(axes, contents):
        dots(axis, *content)
    save(figure, path)


def dots(panel, peers, name, heading):
    """A dot for each peer on a logarithmic axis, since they differ by thousands of times. Bars would need a zero."""
    shown = [(key, figures) for key, figures in reversed(peers.items()) if figures.get(name)]
    for place, (key, figures) in enumerate(shown):
        colour = OURS if is_brocot(key) else OTHERS
        panel.plot(figures[name], place, "o", color=colour, markerfacecolor=colour if is_right(figures) else "white")
        panel.annotate(number(figures[name]), (figures[name], place), xytext=(7, 0), textcoords="offset points", va="center")
    panel.set_yticks(range(len(shown)), [label(key) for key, _ in shown])
    panel.set_xscale("log")
    panel.margins(x=0.12, y=0.6 / len(shown))
    panel.grid(axis="y", color="#eeeeee")
    panel.set_axisbelow(True)
    panel.set_title(heading, loc="left")
    panel.spines[["top", "right"]].set_visible(False)


def label(key):
    return title(key).replace("`", "")


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
            panel.plot(*zip(*points), marker=next(markers), label=label(key), color=OURS if is_brocot(key) else None,
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
