"""The signal operators by their names in a model file."""

from __future__ import annotations

from arenite.converters.graph.model import Op, Subgraph
from arenite.converters.graph.signal.filters import FilterBank, Log, Pcan, SpectralSubtraction, SquareRoot
from arenite.converters.graph.signal.operator import SignalOperator
from arenite.converters.graph.signal.spectrum import Energy, FftAutoScale, Rfft, Window

SIGNAL_OPERATORS: dict[str, type[SignalOperator]] = {
    "SignalWindow": Window,
    "SignalFftAutoScale": FftAutoScale,
    "SignalRfft": Rfft,
    "SignalEnergy": Energy,
    "SignalFilterBank": FilterBank,
    "SignalFilterBankSquareRoot": SquareRoot,
    "SignalFilterBankSpectralSubtraction": SpectralSubtraction,
    "SignalPCAN": Pcan,
    "SignalFilterBankLog": Log,
}


def is_signal_operator(op: Op) -> bool:
    """Return whether ``op`` is a signal operator that Arenite computes."""
    return op.kind in SIGNAL_OPERATORS


def signal_operator(graph: Subgraph, op: Op) -> SignalOperator:
    """Return the checked operator, with the state of a reset. Raises ``UnsupportedModelError`` if its tensors or
    options are not those that the kernels expect."""
    return SIGNAL_OPERATORS[op.kind](graph, op)


def signal_states(graph: Subgraph) -> dict[str, int]:
    """Return the bytes of the state of each signal operator that has one, by ``state_name``."""
    operators = [signal_operator(graph, op) for op in graph.ops if is_signal_operator(op)]
    return {state_name(o.op): o.state_bytes for o in operators if o.state_bytes}


def state_name(op: Op) -> str:
    """Return the name of the operator's state in a plan. No resource variable has it, because their names contain a
    slash."""
    return f"state of operator {op.index} {op.kind}"
