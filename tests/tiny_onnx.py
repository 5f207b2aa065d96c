"""Tiny image models in the ONNX format."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnx
from onnx import TensorProto, helper


def tiny_model(
    path: Path,
    shape: list[Any],
    nodes: list[Any] | None = None,
    outputs: dict[str, list[Any]] | None = None,
    *,
    kind: int = TensorProto.FLOAT,
) -> Path:
    """A model that gives back its images, unless it is told what to do with "image"."""
    nodes = nodes or [helper.make_node("Identity", ["image"], ["map"])]
    outputs = outputs or {"map": shape}
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info("image", kind, shape)],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, size) for name, size in outputs.items()],
    )
    # Old enough for every runtime.
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)
    return path


def averaging(name: str, axes: list[int]) -> Any:
    return helper.make_node("ReduceMean", ["image"], [name], axes=axes, keepdims=0)
