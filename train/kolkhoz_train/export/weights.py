"""The network's weights as one flat file that any language can read.

All arrays one after another, row-major, little-endian, in the order of the manifest's
``weights.tensors``, as 16-bit or 32-bit floats.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kolkhoz_agents.network import Weights
from kolkhoz_train.export.errors import refuse

DTYPES: dict[str, np.dtype[Any]] = {"float16": np.dtype("<f2"), "float32": np.dtype("<f4")}
LARGEST_FLOAT16 = 65504.0


def pack_weights(weights: Mapping[str, Any], storage: str) -> tuple[bytes, list[dict[str, Any]]]:
    """The file's bytes, and name and shape of each array in its order."""
    dtype = DTYPES[storage]
    tensors = [{"name": name, "shape": list(array.shape)} for name, array in weights.items()]
    return b"".join(array.astype(dtype).tobytes() for array in weights.values()), tensors


def unpack_weights(tensors: list[dict[str, Any]], storage: str, data: bytes) -> Weights:
    """The arrays as float32. Raises `BundleError` if size or values are not what they must be."""
    dtype = DTYPES[storage]
    needed = dtype.itemsize * sum(int(np.prod(t["shape"], dtype=np.int64)) for t in tensors)
    if needed != len(data):
        refuse("weights.bin", f"{len(data)} bytes, but the arrays of the manifest take {needed}")
    weights, offset = {}, 0
    for tensor in tensors:
        size = int(np.prod(tensor["shape"], dtype=np.int64))
        array = np.frombuffer(data, dtype, size, offset).reshape(tensor["shape"])
        if not np.isfinite(array).all():
            refuse("weights.bin", f"{tensor['name']} holds values that are no finite numbers")
        weights[tensor["name"]] = array.astype(np.float32)
        offset += size * dtype.itemsize
    return weights


def as_stored(weights: Mapping[str, Any], storage: str) -> Weights:
    """The weights as a reader of the file will have them, float32."""
    dtype = DTYPES[storage]
    return {name: array.astype(dtype).astype(np.float32) for name, array in weights.items()}
