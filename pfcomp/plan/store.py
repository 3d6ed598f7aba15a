"""The schedule as a file: plain JSON in which every field has its name, compressed."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pfcomp.errors import ArtifactError, PfcompError
from pfcomp.ir.model import DType, Location, MNGraph, MNNode, MNValue
from pfcomp.layout import Layout, Subaxis
from pfcomp.layout.model import Level
from pfcomp.plan.axes import AxisDigits, AxisTable
from pfcomp.plan.blocks import Block
from pfcomp.plan.model import Region, Schedule
from pfcomp.plan.tasks import Task

FORMAT = 2


def to_json(schedule: Schedule) -> dict[str, Any]:
    """The schedule as JSON values."""
    graph = schedule.graph
    return {
        "format": FORMAT,
        "values": [_value_json(v) for v in graph.values.values()],
        "inputs": list(graph.inputs),
        "outputs": list(graph.outputs),
        "states": list(graph.states),
        "constants": list(graph.constants),
        "immediates": [list(pair) for pair in graph.immediates],
        "inner": [list(pair) for pair in graph.inner],
        "regions": [_region_json(r) for r in schedule.regions],
        "tasks": [_task_json(t) for t in schedule.tasks],
        "contents": {name: _array_json(array) for name, array in schedule.contents.items()},
        "float_dtype": schedule.float_dtype,
    }


def from_json(data: Any, where: str) -> Schedule:
    """Read what `to_json` wrote; raises ArtifactError PF0408 for anything else."""
    try:
        if data["format"] != FORMAT:
            raise ArtifactError(
                "PF0408", f"schedule of format {data['format']!r}, expected {FORMAT}", where=where, hint="compile again"
            )
        regions = tuple(_region(r) for r in data["regions"])
        tasks = tuple(_task(t) for t in data["tasks"])
        contents = {str(name): _array(a) for name, a in data["contents"].items()}
        float_dtype = str(data["float_dtype"])
        graph = MNGraph(
            values={v["name"]: _value(v) for v in data["values"]},
            nodes=tuple(node for region in regions for node in region.nodes) + tuple(t.node for t in tasks),
            inputs=tuple(data["inputs"]),
            outputs=tuple(data["outputs"]),
            states=tuple(data["states"]),
            constants=tuple(data["constants"]),
            immediates=tuple((str(name), DType(dtype), int(bits)) for name, dtype, bits in data["immediates"]),
            inner=tuple((str(name), DType(dtype)) for name, dtype in data["inner"]),
        )
    except PfcompError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ArtifactError("PF0408", f"not a schedule ({error})", where=where, hint="compile again") from error
    return Schedule(graph, regions, tasks, contents, float_dtype)


def _value_json(value: MNValue) -> dict[str, Any]:
    return {
        "name": value.name,
        "shape": list(value.shape),
        "dtype": value.dtype.value,
        "layout": str(value.layout),
        "location": value.location.value,
        "address": value.address,
        "size": value.size,
        "torch_dtype": value.torch_dtype,
    }


def _value(data: dict[str, Any]) -> MNValue:
    return MNValue(
        name=str(data["name"]),
        shape=tuple(int(n) for n in data["shape"]),
        dtype=DType(data["dtype"]),
        layout=Layout.parse(data["layout"]),
        location=Location(data["location"]),
        address=int(data["address"]),
        size=int(data["size"]),
        torch_dtype=str(data["torch_dtype"]),
    )


def _node_json(node: MNNode) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "name": node.name,
        "op": node.op,
        "inputs": list(node.inputs),
        "outputs": list(node.outputs),
        "source": node.source,
    }
    if node.attributes:
        fields["attributes"] = [[name, list(v) if isinstance(v, tuple) else v] for name, v in node.attributes]
    if node.body:
        fields["body"] = [_node_json(n) for n in node.body]
    return fields


def _node(data: dict[str, Any]) -> MNNode:
    return MNNode(
        name=str(data["name"]),
        op=str(data["op"]),
        inputs=tuple(map(str, data["inputs"])),
        outputs=tuple(map(str, data["outputs"])),
        attributes=tuple((str(name), tuple(v) if isinstance(v, list) else v) for name, v in data.get("attributes", ())),
        source=str(data["source"]),
        body=tuple(_node(n) for n in data.get("body", ())),
    )


def _task_json(task: Task) -> dict[str, Any]:
    return {
        "node": _node_json(task.node),
        "variant": task.variant,
        "scratch": list(task.scratch),
        "tables": list(task.tables),
    }


def _task(data: dict[str, Any]) -> Task:
    scratch, tables = (tuple(map(str, data[key])) for key in ("scratch", "tables"))
    return Task(_node(data["node"]), str(data["variant"]), scratch, tables)


def _array_json(array: NDArray[np.generic]) -> dict[str, Any]:
    """Shape, numpy's name of the element type, and the elements in base 64."""
    content = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
    return {"shape": list(array.shape), "type": array.dtype.str, "data": content}


def _array(data: dict[str, Any]) -> NDArray[np.generic]:
    content = base64.b64decode(data["data"], validate=True)
    return np.frombuffer(content, np.dtype(str(data["type"]))).reshape(tuple(map(int, data["shape"])))


def _table_json(table: AxisTable) -> list[dict[str, list[str]]]:
    return [{"outer": [str(d) for d in a.outer], "inner": [str(d) for d in a.inner]} for a in table]


def _digit(text: str) -> Subaxis:
    head, stride = text.split(":")
    size, _, level = head.partition("_")
    return Subaxis(int(size), Level(level or "Addr"), int(stride))


def _region_json(region: Region) -> dict[str, Any]:
    return {
        "table": _table_json(region.table),
        "blocks": [[list(r) for r in block.ranges] for block in region.blocks],
        "once": [_node_json(n) for n in region.once],
        "repeated": [_node_json(n) for n in region.repeated],
        "last": [_node_json(n) for n in region.last],
        "whole": list(region.whole),
    }


def _region(data: dict[str, Any]) -> Region:
    table = tuple(
        AxisDigits(tuple(map(_digit, axis["outer"])), tuple(map(_digit, axis["inner"]))) for axis in data["table"]
    )
    blocks = tuple(Block(tuple((int(low), int(high)) for low, high in ranges)) for ranges in data["blocks"])
    once, repeated, last = (tuple(map(_node, data[key])) for key in ("once", "repeated", "last"))
    return Region(table, blocks, once, repeated, last, tuple(map(str, data["whole"])))
