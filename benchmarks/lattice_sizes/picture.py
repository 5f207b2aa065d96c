"""The picture: small multiples, a column a set.

In:   the sets. Out: SVG with texts as texts, the same bytes for the same numbers. Not: the numbers (sums.py).
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from benchmarks.lattice_sizes.measuring import ADAPTIVE, ALIGNMENTS, HARD, USUAL, WANTED
from benchmarks.lattice_sizes.sums import Set
from polyref.draw.style import DARK, FONTS, LIGHT

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

# On light paper and on dark: the lower the penalty, the further from the paper.
COLOURS = {
    HARD: (LIGHT.lines[1], DARK.lines[1]),
    "0.8": ("#a3cdec", "#2a5a86"),
    "0.7": ("#5aa6da", "#347bb5"),
    "0.6": (LIGHT.lines[0], DARK.lines[0]),
    "0.5": ("#0a4a80", "#82c6f4"),
    "0.4": ("#0b2545", "#d2ecff"),
    ADAPTIVE: (LIGHT.lines[2], DARK.lines[2]),
}
THEMES = [*COLOURS.values(), *((getattr(LIGHT, n), getattr(DARK, n)) for n in ("paper", "ink", "faint", "rule"))]
WIDTH, HEIGHT, FONT, SHADE = 960, 640, 13, 0.13
STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "polyref",
    # Measured by the font that matplotlib brings along, so that the layout is the same everywhere.
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": FONT,
    "figure.facecolor": LIGHT.paper,
    "axes.facecolor": "none",
    "text.color": LIGHT.ink,
    "axes.labelcolor": LIGHT.ink,
    "axes.edgecolor": LIGHT.rule,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "grid.color": LIGHT.rule,
    "grid.linewidth": 0.6,
    "xtick.color": LIGHT.rule,
    "ytick.color": LIGHT.rule,
    "xtick.labelcolor": LIGHT.faint,
    "ytick.labelcolor": LIGHT.faint,
    "ytick.left": False,
}
TITLE = "Sentences in a lattice and BLEU of the best, against the length of the references"


def draw(sets: Sequence[Set]) -> str:
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH / 72, HEIGHT / 72), layout="constrained")
        figure.get_layout_engine().set(w_pad=0.08, h_pad=0.08, wspace=0.01, hspace=0.02)
        axes = figure.subplots(2, len(sets), sharex="col", squeeze=False)
        for one, (above, below) in zip(sets, axes.T, strict=True):
            _draw_sizes(above, one)
            _draw_bleus(below, one)
            below.sharey(axes[1][0])
            below.tick_params(labelleft=below is axes[1][0])
        axes[0][0].set_ylabel("sentences in a lattice, median")
        axes[1][0].set_ylabel(f"mean BLEU of the best {WANTED} new")
        figure.supxlabel("mean length of an example's references, in words", fontsize=FONT)
        figure.legend(
            handles=_legend(), loc="outside upper left", ncols=len(ALIGNMENTS) + 1, frameon=False, columnspacing=1.6
        )
        figure.align_ylabels(axes[:, 0])
        stream = io.StringIO()
        figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None, "Title": TITLE})
    return _finished(stream.getvalue())


def _draw_sizes(axes: Axes, one: Set) -> None:
    axes.set_title(f"{one.name}\n", loc="left", fontweight="bold", fontsize=FONT + 2)
    axes.annotate(
        _about(one), (0, 1), (0, 7), "axes fraction", textcoords="offset points", color=LIGHT.faint, fontsize=FONT - 1
    )
    parts = [one.summary(USUAL, part) for part in one.bins]
    low, high = [float(part.low) for part in parts], [float(part.high) for part in parts]
    axes.fill_between([part.length for part in parts], low, high, color=COLOURS[USUAL][0], alpha=SHADE, linewidth=0)
    for alignment in ALIGNMENTS:
        parts = [one.summary(alignment, part) for part in one.bins]
        axes.plot([part.length for part in parts], [float(part.median) for part in parts], **_line(alignment))
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(numticks=8))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(
        FuncFormatter(lambda count, _: f"{count:,.0f}" if count < 1e5 else f"1e{math.log10(count):.0f}")
    )


def _draw_bleus(axes: Axes, one: Set) -> None:
    for alignment in ALIGNMENTS:
        parts = [one.summary(alignment, part) for part in one.bins]
        axes.plot([part.length for part in parts], [part.bleu for part in parts], **_line(alignment))
    axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.xaxis.set_major_locator(MaxNLocator(7, integer=True))


def _about(one: Set) -> str:
    references = [lattice.references for lattice in one.lattices[HARD]]
    least, most = min(references), max(references)
    return f"{len(references):,} examples, {least if least == most else f'{least} to {most}'} references"


def _line(alignment: str) -> dict[str, object]:
    """Hard alignment lies broad under the others: where they meet it, both can be seen."""
    if alignment == HARD:
        return {"color": COLOURS[HARD][0], "linewidth": 4.5, "solid_capstyle": "round"}
    dashes = (0, (3, 1.6)) if alignment == ADAPTIVE else "-"
    return {"color": COLOURS[alignment][0], "linewidth": 1.7, "linestyle": dashes, "marker": "o", "markersize": 4}


def _legend() -> list[Artist]:
    labels = {HARD: "hard", "0.8": "soft, penalty 0.8", ADAPTIVE: "soft, adaptive"}
    lines = [Line2D([], [], **_line(alignment), label=labels.get(alignment, alignment)) for alignment in ALIGNMENTS]
    return [*lines, Patch(color=COLOURS[USUAL][0], alpha=SHADE, linewidth=0, label=f"9 of 10 at {USUAL}")]


def _finished(svg: str) -> str:
    """The reader's fonts, and the colours of a dark page where the reader's system is set to one."""
    dark = "".join(
        f"[style*='{what}: {light}']{{{what}:{dark}!important}}"
        for light, dark in THEMES
        for what in ("fill", "stroke")
    )
    style = f"<style>@media (prefers-color-scheme: dark) {{{dark}}}</style>"
    svg = svg.replace("'DejaVu Sans'", FONTS)
    svg = svg.replace(f'width="{WIDTH}pt" height="{HEIGHT}pt"', f'width="{WIDTH}" height="{HEIGHT}"')  # not all know pt
    return re.sub(r"(<svg [^>]*>)", lambda start: f"{start[1]}\n {style}", svg, count=1)
