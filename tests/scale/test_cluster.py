"""The same bytes on a Ray cluster of two nodes, also if one of them is lost; `make scale-test` runs this."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from samples import Families, caption_lines

from polyref.align import AlignSettings
from polyref.errors import PolyrefError, SettingsError
from polyref.expansion import CHUNK, ExpandSettings
from polyref.scale import Job, Progress, ShardSettings, ToolSettings, expand_file

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
ray = pytest.importorskip("ray", reason="needs the extra ray")

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
HARD = ExpandSettings(per_example=6)
SOFT = ExpandSettings(per_example=6, align=AlignSettings("soft", "cosine", "adaptive", at_least=50))


@pytest.fixture
def cluster() -> Iterator[Any]:
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    made.add_node(num_cpus=1, num_gpus=1)  # a GPU by name: no encoder here looks for one
    yield made
    ray.shutdown()
    made.shutdown()


@pytest.fixture(scope="module")
def captions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cluster") / "captions.jsonl"
    path.write_text(caption_lines(12 * CHUNK))
    return path


def expanded(captions: Path, output: Path, settings: ExpandSettings = HARD, **tools: Any) -> bytes:
    expand_file(Job(str(captions), str(output), settings, tools=ToolSettings(engine="plain", **tools)))
    return output.read_bytes()


def test_two_nodes_give_the_bytes_of_one_process(cluster, captions, tmp_path):
    encoder = Families().save(tmp_path / "families.npz")
    for settings, tools in ((HARD, {}), (SOFT, {"encoder": encoder})):  # the second with an actor that encodes
        alone = expanded(captions, tmp_path / "alone.jsonl", settings, **tools)
        assert expanded(captions, tmp_path / "out.jsonl", settings, ray=cluster.address, **tools) == alone


def test_a_node_that_is_lost_changes_nothing(cluster, captions, tmp_path):
    alone, output = expanded(captions, tmp_path / "alone.jsonl"), tmp_path / "out"
    lost = []

    def lose_one(progress: Progress) -> None:
        if not lost:
            lost.append(cluster.list_all_nodes()[-1])
            cluster.remove_node(lost[0], allow_graceful=False)

    job = Job(str(captions), f"{output}/", HARD, tools=ToolSettings(engine="plain", ray=cluster.address))
    expand_file(replace(job, sharding=ShardSettings(None, 4 * CHUNK)), on_progress=lose_one)
    assert lost
    assert b"".join(path.read_bytes() for path in sorted(output.glob("0*.jsonl"))) == alone


def test_faults_of_the_input_are_told_as_ever(cluster, captions, tmp_path):
    job = Job(str(captions), str(tmp_path / "out.jsonl"), replace(HARD, per_example=500, shortfall="fail"))
    with pytest.raises(PolyrefError, match=r'captions.jsonl:1: the example "example 0" gives \d+ references of 500'):
        expand_file(replace(job, tools=ToolSettings(engine="plain", ray=cluster.address)))


def test_a_cluster_that_is_not_there_is_named(captions, tmp_path):
    with pytest.raises(SettingsError, match=r"there is no Ray cluster at auto \(ConnectionError\); start one with"):
        expanded(captions, tmp_path / "out.jsonl", ray="auto")
