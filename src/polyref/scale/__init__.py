"""Many examples: workers, in order, in constant memory."""

from polyref.scale.pool import collect_seldom
from polyref.scale.shards import ShardSettings
from polyref.scale.workers import Job, Progress, ToolSettings, expand_file

__all__ = ["Job", "Progress", "ShardSettings", "ToolSettings", "collect_seldom", "expand_file"]
