"""The yardstick of alignment: pairs of references, word-aligned by people's reading."""
