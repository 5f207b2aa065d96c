"""The yardstick of choosing: pseudo-references that people judged."""
