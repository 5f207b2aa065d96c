"""Examples of the sizes that drawings are made for."""

from __future__ import annotations

from samples import CAT

INDONESIA = [
    "Indonesia reiterated its opposition to foreign military presence",
    "Indonesia repeats its opposition against station of foreign troops in Indonesia",
    "Indonesia reiterates opposition to garrisoning foreign armies",
]
ELEPHANTS = [
    "Two elephants in an enclosure next to a brick building",
    "Two elephants try to fit through a small entry",
]
HOTEL = [
    "The Lantern is a small hotel by the harbour with large rooms and a quiet garden.",
    "By the harbour you find The Lantern, a small hotel that has large rooms and a garden.",
    "The Lantern, near the harbour, is small but quiet. Its rooms are large.",
    "If you like quiet gardens and large rooms, stay at The Lantern, a hotel by the harbour.",
    "A small hotel called The Lantern stands near the harbour. It has a quiet garden.",
    "The Lantern is a quiet hotel near the harbour. Its garden is small and its rooms are large.",
    "There is a small hotel by the harbour, The Lantern, where rooms are large and the garden is quiet.",
    "Quiet and small, The Lantern by the harbour has a garden and large rooms.",
]
BRIDGE = [
    "The old bridge was closed in 1998, after engineers had found cracks in two of its piers.",
    "In 1998 the old bridge was closed because engineers found cracks in two piers.",
    "Engineers found cracks in two of the bridge's piers in 1998. The bridge was then closed.",
    "The bridge was closed in 1998. Two of its piers had cracks.",
    "After engineers found cracks in two piers, the old bridge was closed. This was in 1998.",
    "The old bridge, which had cracks in two of its piers, was closed in 1998.",
    "Two piers of the old bridge had cracks, so engineers closed it in 1998.",
    "In 1998, engineers found that two of the old bridge's piers had cracks, and it was closed.",
    "The old bridge was shut in 1998 when engineers discovered cracks in two of its piers.",
    "Cracks in two piers were found by engineers, and in 1998 the old bridge was closed.",
]
SHAPES = {"indonesia": INDONESIA, "elephants": ELEPHANTS, "cat": CAT, "hotel": HOTEL, "bridge": BRIDGE}
AWKWARD = [
    '<b> & "x" <eps>',
    "日本語 は \\ x_y% #1 {a}",
    "שלום عالم zażółć $5 ~^ 👩‍👩‍👧",
    "<b> \\ e\u0301 --- | '` <eps> #1",
]
