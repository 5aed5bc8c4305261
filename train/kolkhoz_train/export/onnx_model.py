"""The network as an ONNX graph: observation and legal moves in, log-probabilities and value out.

The graph is built node by node from operators that every ONNX runtime has. The sorting of the
crops is inside: inputs and outputs stand in the manifest's plain order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kolkhoz_agents.network import Canon, NetworkShape, Weights
from kolkhoz_env.game import KolkhozGame

if TYPE_CHECKING:
    import onnx

OPSET = 17
IR_VERSION = 8
#: Operators of the graph; a model with any other is not one of ours.
OPERATORS = frozenset({
    "Add", "Cast", "Gather", "GatherElements", "Gemm", "Greater", "LogSoftmax", "Mul", "ReduceSum",
    "Relu", "Reshape", "Sigmoid", "Squeeze", "Unsqueeze", "Where",
})  # fmt: skip
_LOWEST = -3.0e38


class _Graph:
    """Nodes and constants of a graph under construction."""

    def __init__(self, storage: str) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.storage = storage
        self._count = 0

    def add(self, operator: str, *inputs: str, output: str | None = None, **options: Any) -> str:
        """A node; returns the name of its output."""
        from onnx import helper

        self._count += 1
        output = output or f"{operator.lower()}_{self._count}"
        self.nodes.append(helper.make_node(operator, list(inputs), [output], **options))
        return output

    def constant(self, name: str, values: Any) -> str:
        """A constant of the type of `values`."""
        from onnx import numpy_helper

        self.constants.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def weight(self, name: str, values: np.ndarray) -> str:
        """A weight: stored in 16 bits where the weights are, computed with in 32."""
        if self.storage == "float32":
            return self.constant(name, values.astype(np.float32))
        stored = self.constant(f"{name}.float16", values.astype(np.float16))
        return self.add("Cast", stored, output=name, to=1)

    def linear(self, name: str, inputs: str, weights: Weights, output: str | None = None) -> str:
        """A linear layer."""
        weight = self.weight(f"{name}.weight", weights[f"{name}.weight"])
        bias = self.weight(f"{name}.bias", weights[f"{name}.bias"])
        return self.add("Gemm", inputs, weight, bias, output=output, transB=1)


def make_model(
    shape: NetworkShape, weights: Weights, game: KolkhozGame, storage: str, producer: str
) -> onnx.ModelProto:
    """The model of a network with float32 `weights` by name, checked by onnx itself."""
    from onnx import TensorProto, checker, helper

    graph = _Graph(storage)
    canon = Canon(game, shape)
    case = _case(graph, canon)
    inputs = _inputs(graph, canon, case)
    hidden = _trunk(graph, "trunk", shape, weights, inputs)
    logits = graph.linear("policy", hidden, weights)
    if shape.heads == "phase":
        logits = _choose_phase(graph, game, logits)
    order = graph.add("Gather", graph.constant("action_order", canon.action_inverse), case)
    _log_probs(graph, graph.add("GatherElements", logits, order, axis=1))
    if shape.trunk == "separate":
        hidden = _trunk(graph, "value_trunk", shape, weights, inputs)
    value = graph.linear("value", hidden, weights)
    graph.add("Squeeze", value, graph.constant("value_axis", np.array([1])), output="value")

    actions, size = game.num_actions, game.observation.size
    info = helper.make_tensor_value_info
    model = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "kolkhoz_bot",
            [info("observation", TensorProto.FLOAT, ["batch", size]),
             info("mask", TensorProto.BOOL, ["batch", actions])],
            [info("log_probs", TensorProto.FLOAT, ["batch", actions]),
             info("value", TensorProto.FLOAT, ["batch"])],
            graph.constants,
        ),
        producer_name=producer,
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
    )  # fmt: skip
    checker.check_model(model, full_check=True)
    return model


def _case(graph: _Graph, canon: Canon) -> str:
    """Which case of the symmetry holds, int64 [batch]; see `Canon.case`."""
    parts, length = canon.key_columns.shape
    columns = graph.constant("key_columns", canon.key_columns.ravel())
    shown = graph.add("Gather", "observation", columns, axis=1)
    each = graph.add("Reshape", shown, graph.constant("keys", np.array([-1, parts, length])))
    # A sum of products, not a product of matrices: some backends round the latter's factors.
    weights = graph.constant("key_weights", canon.key_weights.astype(np.float32))
    axis = graph.constant("key_axis", np.array([2]))
    keys = graph.add("ReduceSum", graph.add("Mul", each, weights), axis, keepdims=0)
    first, second = (
        graph.add("Gather", keys, graph.constant(f"pair_{name}", canon.pairs[:, side]), axis=1)
        for side, name in enumerate(("first", "second"))
    )
    exchanged = graph.add("Cast", graph.add("Greater", second, first), to=1)
    bits = graph.constant("pair_bits", 2.0 ** np.arange(len(canon.pairs), dtype=np.float32))
    axis = graph.constant("pair_axis", np.array([1]))
    code = graph.add("ReduceSum", graph.add("Mul", exchanged, bits), axis, keepdims=0)
    cases = graph.constant("case_of_code", canon.case_of_code)
    return graph.add("Gather", cases, graph.add("Cast", code, to=7))


def _inputs(graph: _Graph, canon: Canon, case: str) -> str:
    """What the network sees: columns in the order of the case, scaled, float32 [batch, inputs]."""
    index = graph.constant("observation_order", canon.observation_index.astype(np.int32))
    columns = graph.add("Gather", index, case)
    chosen = graph.add("GatherElements", "observation", columns, axis=1)
    return graph.add("Mul", chosen, graph.constant("scale", canon.scale))


def _trunk(graph: _Graph, name: str, shape: NetworkShape, weights: Weights, inputs: str) -> str:
    hidden = inputs
    for layer in range(len(shape.hidden)):
        hidden = graph.linear(f"{name}.{layer}", hidden, weights)
        if shape.activation == "relu":
            hidden = graph.add("Relu", hidden)
        else:
            hidden = graph.add("Mul", hidden, graph.add("Sigmoid", hidden))
    return hidden


def _choose_phase(graph: _Graph, game: KolkhozGame, logits: str) -> str:
    """The logits of the phase that the observation shows, [batch, actions]."""
    block = game.observation["phase"]
    columns = graph.constant("phase_columns", np.arange(block.offset, block.offset + block.length))
    shown = graph.add("Gather", "observation", columns, axis=1)
    flags = graph.add("Unsqueeze", shown, graph.constant("last_axis", np.array([2])))
    shape = np.array([-1, len(game.phases), game.num_actions])
    heads = graph.add("Reshape", logits, graph.constant("heads", shape))
    axis = graph.constant("phase_axis", np.array([1]))
    return graph.add("ReduceSum", graph.add("Mul", heads, flags), axis, keepdims=0)


def _log_probs(graph: _Graph, logits: str) -> None:
    """Masked log-softmax; a row without legal moves gives -infinity and no NaN."""
    low = graph.constant("lowest", np.float32(_LOWEST))
    masked = graph.add("Where", "mask", logits, low)
    spread = graph.add("LogSoftmax", masked, axis=1)
    never = graph.constant("never", np.float32(-np.inf))
    graph.add("Where", "mask", spread, never, output="log_probs")
