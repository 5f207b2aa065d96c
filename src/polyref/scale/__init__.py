"""Many examples: workers, in order, in constant memory."""

from polyref.scale.workers import Job, Progress, expand_file

__all__ = ["Job", "Progress", "expand_file"]
