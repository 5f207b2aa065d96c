"""Many examples: workers, in order, in constant memory."""

from polyref.scale.workers import Job, Progress, ToolSettings, expand_file

__all__ = ["Job", "Progress", "ToolSettings", "expand_file"]
