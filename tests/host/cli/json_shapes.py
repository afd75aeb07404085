"""The documented keys and types of the JSON objects that commands print."""

from __future__ import annotations

from typing import Any

BOARD = "qemu_mps2_an386"

# The dictionaries below are shapes of JSON objects: they map keys to types, values or shapes. A tuple with one shape
# stands for an array, Ellipsis for any value, None for null.
ESTIMATE = {"value": float, "kind": "estimated"}
COUNTS = dict.fromkeys(("p50", "p95", "p99", "min", "max"), int)
BENCH: dict[str, Any] = {
    "schema": "arenite.bench/1",
    "model": {"path": str, "sha256": str, "macs": int, "macs_after_passes": int},
    "passes": list,
    "board": {"name": BOARD, "core": "cortex-m4f"},
    "samples": {"count": 3, "bit_exact": 3, "max_abs_diff": 0, "accuracy": None},
    "inference": {
        "instructions": COUNTS,
        "latency_us": None,
        "cycles": {"p50": int, "kind": "estimated", "source": str},
    },
    "init": {"instructions": int},
    "memory": dict.fromkeys(
        ("arena", "arena_lower_bound", "stack", "static", "ram_total", "predicted_ram_total"), int
    ),
    "flash": dict.fromkeys(("weights", "code", "total", "predicted_total"), int),
    "layers": (
        {
            "index": int,
            "op": str,
            "macs": int,
            "instructions": int,
            "cycles": int,
            "kernel": ...,
            "tier": ...,
        },
    ),
    "classes": ({"count": int, "cycles": int, "kind": str, "source": str},),
    "notes": list,
    "energy": None,
}
FIT: dict[str, Any] = {
    "schema": "arenite.fit/1",
    "model": {"path": str, "sha256": str},
    "boards": (
        {
            "board": str,
            "optimise": str,
            "fits": bool,
            "ram": dict.fromkeys(("needed", "available", "arena", "stack", "static"), int),
            "flash": {"needed": int, "available": int},
            "latency_ms": ESTIMATE,
            "energy_mj": ...,
            "reasons": list,
        },
    ),
    "passes": list,
}
PLAN = {"arena_bytes": int, "lower_bound": int, "status": str}
TENSOR = {
    "index": int,
    "name": str,
    "shape": list,
    "dtype": str,
    "quantization": {"scale": list, "zero_point": list},
}
INSPECT: dict[str, Any] = {
    "schema": "arenite.inspect/1",
    "model": {"path": str, "sha256": str},
    "inputs": (TENSOR,),
    "outputs": (TENSOR,),
    "operators": ({"index": int, "op": str, "inputs": str, "outputs": str, "macs": int, "arena": str},),
    "macs": int,
    "macs_after_passes": int,
    "passes": list,
    "constant_bytes": int,
    "plan": PLAN,
    "notes": list,
}
CONVERT: dict[str, Any] = {
    "schema": "arenite.convert/1",
    "source": {"path": str, "sha256": str, "kind": str, "versions": dict, "agreement": ...},
    "image": {"path": str, "bytes": int},
    "arena": {"bytes": int, "lower_bound": int, "status": str},
    "notes": list,
    "passes": list,
    "calibration": None,
    "score": None,
    "fit": None,
    "fits": list,
}
SCORE = {"metric": str, "value": float, "samples": int, "margin": float, "per_class": dict, "slices": dict}
CALIBRATED: dict[str, Any] = {
    **CONVERT,
    "calibration": {
        "recipe": {"name": "int8", "activations": "int8", "weights": "int8", "layers": list},
        "samples": 60,
        "sha256": str,
        "coverage": (
            {
                "tensor": int,
                "name": str,
                "made_by": str,
                "range": list,
                "seen": list,
                **dict.fromkeys(("used", "bulk", "outlier", "clipped"), float),
                "sqnr_db": ESTIMATE,
            },
        ),
        "layers": ({"layer": int, "op": str, "name": str, "sqnr_db": ..., "max_abs": float, "step": float},),
        "weights": {"before": int, "after": int},
        "field": {
            "samples": 120,
            "score": SCORE,
            "clipped": list,
            "tensors": list,
            "warnings": list,
        },
        "sensitivity": {
            "base": SCORE,
            "layers": (
                {
                    **dict.fromkeys(("op", "name", "kind"), str),
                    **dict.fromkeys(("layer", "weight_bytes_before", "weight_bytes"), int),
                    "sqnr_db": ...,
                    "drop": float,
                },
            ),
        },
        "search": None,
    },
    "score": {
        "of": str,
        "source": SCORE,
        "image": SCORE,
        "drop": float,
        "worst": ({"what": str, "before": float, "after": float, "drop": float},),
    },
    "fit": FIT["boards"][0],
    "fits": FIT["boards"],
}
BUILD = {"options": str, "ram": int, "flash": int, "instructions": {"value": int, "kind": "estimated"}}
SEARCH: dict[str, Any] = {
    "schema": "arenite.search/1",
    "budget": {"ram": int, "flash": int, "instructions": None, "drop": float, "accuracy": None},
    "objectives": list,
    "float": SCORE,
    "trials": (
        {
            "trial": int,
            "label": str,
            "params": dict,
            "score": float,
            "drop": float,
            "meets": bool,
            "misses": list,
            "front": bool,
            "build": ...,
            "error": ...,
        },
    ),
    "front": (int,),
    "chosen": {"trial": int, "recipe": dict, "build": BUILD, "score": SCORE, "drop": float, "bytes": int},
    "nearest": int,
    "resumed": 0,
}
REGION = {"name": str, "origin": int, "size": int}
BOARDS: dict[str, Any] = {
    "schema": "arenite.boards/1",
    "boards": (
        {
            **dict.fromkeys(("name", "title", "mcu", "core"), str),
            "clock_hz": int,
            "emulated": bool,
            "features": list,
            "flash": (REGION,),
            "ram": ({**REGION, "kind": str},),
            "sources": dict,
        },
    ),
}
ZOO: dict[str, Any] = {
    "schema": "arenite.zoo/1",
    "models": (
        {
            **dict.fromkeys(("name", "title", "task", "source", "sha256", "licence", "precision"), str),
            "bytes": int,
            "labels": list,
            "accuracy": ...,
            "cached": bool,
        },
    ),
}
FIRMWARE: dict[str, Any] = {
    "schema": "arenite.firmware/1",
    "directory": str,
    "board": BOARD,
    "optimise": "speed",
    "layers": int,
    "predicted": dict.fromkeys(
        ("arena", "static", "stack", "ram_total", "weights", "code", "flash_total"), int
    ),
    "passes": list,
}


def assert_shape(value: object, shape: object, path: str = "") -> None:
    """Check that ``value`` has every key of ``shape`` with the right type. More keys are allowed."""
    if shape is ...:
        return
    if isinstance(shape, dict):
        assert isinstance(value, dict), path
        for key, expected in shape.items():
            assert key in value, f"{path}.{key} is missing"
            assert_shape(value[key], expected, f"{path}.{key}")
    elif isinstance(shape, tuple):
        assert isinstance(value, list) and value, path
        for k, item in enumerate(value):
            assert_shape(item, shape[0], f"{path}[{k}]")
    elif isinstance(shape, type):
        has_type = type(value) is shape or (shape is float and type(value) is int)
        assert has_type, f"{path} is {value!r}, no {shape.__name__}"
    else:
        assert value == shape, path
