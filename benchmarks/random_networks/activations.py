"""Name the activation functions of Keras and PyTorch that the random networks contain."""

from __future__ import annotations


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


#: Every function of ``keras.activations`` in Keras 3. ``gelu_tanh`` is ``gelu`` with ``approximate=True``, ``gelu_erf``
#: with ``approximate=False``.
KERAS = _words("""
    celu elu exponential gelu_erf gelu_tanh glu hard_shrink hard_sigmoid hard_silu hard_tanh leaky_relu linear
    log_sigmoid log_softmax mish prelu relu relu6 selu sigmoid silu soft_shrink softmax softplus softsign sparse_plus
    sparse_sigmoid sparsemax squareplus tanh tanh_shrink threshold
""")

#: Every activation module of ``torch.nn``. ``GELU_tanh`` is ``GELU(approximate="tanh")``.
TORCH = _words("""
    CELU ELU GELU GELU_tanh GLU Hardshrink Hardsigmoid Hardswish Hardtanh LeakyReLU LogSigmoid LogSoftmax Mish PReLU
    ReLU ReLU6 RReLU SELU SiLU Sigmoid Softmax Softmin Softplus Softshrink Softsign Tanh Tanhshrink Threshold
""")

ACTIVATIONS = {"keras": KERAS, "torch": TORCH}

#: Activations whose values are never larger than one or hardly carry a gradient. A network has one of them only once,
#: followed by layers with another activation, because a stack of them does not learn within the time of a training.
SATURATING = frozenset(
    _words("""
    exponential hard_sigmoid log_softmax sigmoid softmax sparse_sigmoid sparsemax hard_shrink soft_shrink tanh_shrink
    Hardsigmoid LogSigmoid log_sigmoid LogSoftmax Sigmoid Softmax Softmin Hardshrink Softshrink Tanhshrink
""")
)
