"""Turn SVG into PNG with resvg, which brings no other library along.

In:   SVG. Out: PNG. Not: fonts; those of the system are used.
"""

from __future__ import annotations

from polyref.errors import MissingExtraError


def as_png(svg: str, zoom: float = 2.0) -> bytes:
    """The picture, `zoom` pixels to a point."""
    try:
        import resvg_py
    except ImportError:
        raise MissingExtraError("PNG needs resvg-py; install polyref[png], or write SVG") from None
    return bytes(resvg_py.svg_to_bytes(svg_string=svg, zoom=zoom))
