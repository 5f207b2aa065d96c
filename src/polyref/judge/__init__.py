"""Judge the sentences of a lattice: do they say what the references say, and read as people write?"""

from polyref.judge.content import explain, rules_of
from polyref.judge.usage import EXAMPLES_READ, Usage

__all__ = ["EXAMPLES_READ", "Usage", "explain", "rules_of"]
