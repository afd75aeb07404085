"""Find the layers that no microcontroller can run, before the framework starts.

The tables list only what the importers and the generator of firmware refuse in every form. A layer that is not listed
may still be refused after the import.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from arenite.converters.importers import source_kinds
from arenite.converters.importers.outline.onnx2tf_operators import ONNX2TF_OPERATORS
from arenite.converters.importers.outline.outline import Outline, OutlineLayer
from arenite.converters.importers.subprocesses.step_limit import MAX_UNROLLED_STEPS
from arenite.errors import UnsupportedModelError

#: The largest stride and dilation of a convolution, which the kernels store in a byte.
MAX_STEP = 255

#: The names of convolutions in all frameworks.
_CONVOLUTION = re.compile(r"(?i)(aten\.)?\w*conv\w*(\.\w+)?")


@dataclass(frozen=True)
class _Cause:
    """Why layers are refused: ``problem`` goes on after the name of the layer, ``hint`` says what to try."""

    problem: str
    hint: str


_VOLUME = _Cause(
    "computes on volumes, for which there is no kernel",
    "Use 2D layers, with the depth of the volume as channels.",
)
_CONTROL_FLOW = _Cause(
    "chooses or repeats operators while the model runs, but a microcontroller runs every operator once",
    "Compute both branches and select the values of one with torch.where, tf.where or Where. Write a loop with a fixed "
    "number of steps as that many layers.",
)
_SAVED_LOOP = _Cause(
    "repeats operators while the model runs, as the recurrent layers of a SavedModel do, but a microcontroller runs "
    "every operator once",
    "Save a Keras model as a .keras file: its LSTM, GRU and SimpleRNN layers are converted, also stateful ones. Write "
    "another loop with a fixed number of steps as that many layers.",
)
_SAVED_STATE = _Cause(
    "keeps a value between inferences in a variable, which is not carried over from a SavedModel",
    "Give the value to the model as a further input, and return its new value as a further output. Save a Keras model "
    "with stateful layers as a .keras file.",
)
_SPECTRUM = _Cause(
    "computes a spectrum, for which there is no kernel",
    "Compute the spectrum before the model: --preprocessing does it for sound (docs/processing.md). Or multiply by the "
    "constant matrices of the transform, with Dense, Linear or MatMul.",
)
_ALGEBRA = _Cause(
    "solves or decomposes matrices, for which there is no kernel",
    "End the model before this layer, and compute it in your program.",
)
_VARYING_SIZE = _Cause(
    "gives a number of results that depends on the values, but a microcontroller needs fixed sizes",
    "End the model before this layer, and select the results in your program; --postprocessing does it for boxes "
    "(docs/processing.md).",
)
_TEXT = _Cause(
    "looks up or hashes words or numbers, for which there is no kernel",
    "Do this in your program, and give the model the numbers that the layer computes.",
)
_RANDOM = _Cause(
    "draws random numbers, but a microcontroller must give the same outputs for the same inputs",
    "Export the model without this layer (in the mode for inference), or give the numbers as an input.",
)
_FUNCTION = _Cause(
    "computes a function for which there is no kernel",
    "Replace the layer by a function of docs/operators.md, or compute it outside of the model.",
)
_QUANTIZED = _Cause(
    "is quantized already, which onnx2tf does not carry over",
    "Give the float model that it was quantized from, and calibrate that.",
)
_UNKNOWN = _Cause(
    "is an operator that onnx2tf does not have",
    "Export the model without this layer, or export it from PyTorch as .pt2 or from Keras as .keras.",
)
_PYTHON = _Cause(
    "contains Python code, which is not run",
    "Save the model with model.export() as a SavedModel, which needs no Python code.",
)

#: Patterns of ``OutlineLayer.kind`` and why such a layer is refused, for each kind of source.
_KERAS_LAYERS = (
    (r"Conv3D|Conv3DTranspose|(Max|Average)Pooling3D|(Max|Avg)Pool3D|Convolution3D(Transpose)?", _VOLUME),
    (r"StringLookup|IntegerLookup|TextVectorization|Hashing|HashedCrossing|Discretization", _TEXT),
    (r"MelSpectrogram", _SPECTRUM),
    (r"Lambda", _PYTHON),
)
_TENSORFLOW_OPERATORS = (
    (r"Conv3D|Conv3DBackpropInputV2|MaxPool3D|AvgPool3D", _VOLUME),
    (r"(Stateless)?While", _SAVED_LOOP),
    (r"Assign(Add|Sub)?VariableOp|ResourceScatter\w+", _SAVED_STATE),
    (r"(Stateless)?(If|Case)", _CONTROL_FLOW),
    (r"I?R?FFT([23]D)?", _SPECTRUM),
    (
        r"(Batch)?Matrix(Inverse|Determinant|Solve|TriangularSolve)|Cholesky|Svd|Qr|Lu|SelfAdjointEigV2",
        _ALGEBRA,
    ),
    (r"Unique(V2|WithCounts)?|NonMaxSuppressionV[345]|Where", _VARYING_SIZE),
    (r"StringToHashBucket(Fast|Strong)?|LookupTable(Find|Import)V2|AsString|StringSplit(V2)?", _TEXT),
    (r"RandomUniform|RandomStandardNormal|StatelessRandom\w+", _RANDOM),
    (
        r"Acos|Atan2|Digamma|Erfinv|Igammac?|DenseBincount|Bincount|Bucketize|LowerBound|UpperBound|CropAndResize"
        r"|Cumprod|Dilation2D|ExtractImagePatches|ReverseSequence|SegmentSum|ResizeBicubic|LRN",
        _FUNCTION,
    ),
)
_TORCH_OPERATORS = (
    (r"aten\.(conv3d|conv_transpose3d|max_pool3d|max_pool3d_with_indices|avg_pool3d)(\.\w+)?", _VOLUME),
    (r"higher_order\.(cond|while_loop)", _CONTROL_FLOW),
    (r"aten\.(fft_\w+|stft|istft|_fft_\w+)(\.\w+)?", _SPECTRUM),
    (
        r"aten\.(linalg_(inv|inv_ex|det|eigh|eigvalsh|qr|svd|svdvals|cholesky|cholesky_ex|solve|solve_ex|lu\w*)"
        r"|_linalg_\w+|inverse|det|cholesky)(\.\w+)?",
        _ALGEBRA,
    ),
    (r"aten\.(nonzero|masked_select|unique\w*|_unique2?)(\.\w+)?", _VARYING_SIZE),
    (r"aten\.(rand_like|randn_like|rand|randn|bernoulli|multinomial)(\.\w+)?", _RANDOM),
    (
        r"aten\.(atan2?|asin|acos|erfinv|lgamma|digamma|i0|special_i\d\w*|cummax|cummin|cumprod|logcumsumexp|histc"
        r"|bincount|bucketize|searchsorted|kthvalue|sort|argsort|quantile)(\.\w+)?",
        _FUNCTION,
    ),
)
_ONNX_OPERATORS = (
    (r"QLinear\w+|(Dynamic)?QuantizeLinear|DequantizeLinear|\w+Integer", _QUANTIZED),
    (r"If|Loop|Scan", _CONTROL_FLOW),
    (r"DFT|STFT", _SPECTRUM),
    (r"Det", _ALGEBRA),
    (r"NonZero|Unique|NonMaxSuppression", _VARYING_SIZE),
    (r"StringNormalizer|TfIdfVectorizer", _TEXT),
    (r"Random(Normal|Uniform)(Like)?|Bernoulli|Multinomial", _RANDOM),
    (r"Acosh|Atan|Sinh|Tan|ReverseSequence|RoiAlign|MaxRoiPool|MaxUnpool", _FUNCTION),
)
_TFLITE_OPERATORS = (
    (r"CONV_3D(_TRANSPOSE)?", _VOLUME),
    (r"IF|WHILE", _CONTROL_FLOW),
    (r"RFFT2D", _SPECTRUM),
    (r"NON_MAX_SUPPRESSION_V[45]|UNIQUE|WHERE", _VARYING_SIZE),
    (r"HASHTABLE\w*|EMBEDDING_LOOKUP_SPARSE|LSH_PROJECTION", _TEXT),
    (r"RANDOM_\w+|MULTINOMIAL", _RANDOM),
)

_CAUSES = {
    source_kinds.KERAS: _KERAS_LAYERS,
    source_kinds.KERAS_H5: _KERAS_LAYERS,
    source_kinds.SAVED_MODEL: _TENSORFLOW_OPERATORS,
    source_kinds.TORCH_EXPORT: _TORCH_OPERATORS,
    source_kinds.ONNX: _ONNX_OPERATORS,
    source_kinds.TFLITE_FLOAT32: _TFLITE_OPERATORS,
    source_kinds.TFLITE_FLOAT16: _TFLITE_OPERATORS,
    source_kinds.TFLITE_DYNAMIC: _TFLITE_OPERATORS,
}


def check_layers(kind: str, outline: Outline) -> None:
    """Raise ``UnsupportedModelError`` for the first layer of ``outline`` that cannot run on a microcontroller.

    ``kind`` is what ``source_kind`` returns. The error names the layer as its framework does, and says how many further
    layers there are with the same cause.
    """
    refused: list[tuple[OutlineLayer, _Cause]] = []
    for layer in outline.layers:
        cause = _cause(kind, layer)
        if cause is not None:
            refused.append((layer, cause))
    if not refused:
        return
    layer, cause = refused[0]
    names = dict.fromkeys(other.name for other, c in refused if c == cause and other.name != layer.name)
    more = f" The same holds for {len(names)} others, the first of them '{next(iter(names))}'." if len(names) > 1 else (
        f" The same holds for '{next(iter(names))}'." if names else "")  # fmt: skip
    raise UnsupportedModelError(f"{layer} {cause.problem}.{more}", cause.hint)


def _cause(kind: str, layer: OutlineLayer) -> _Cause | None:
    """Return why ``layer`` of a source of the kind ``kind`` is refused, or None if it is not refused."""
    if layer.volume:
        return _VOLUME
    if layer.time_steps > MAX_UNROLLED_STEPS:
        return _Cause(
            f"has {layer.time_steps} time steps; at most {MAX_UNROLLED_STEPS} can be converted",
            "Give the model shorter inputs, or reduce the steps before this layer, for example by a convolution with a "
            "stride.",
        )
    for pattern, cause in _CAUSES.get(kind, ()):
        if re.fullmatch(pattern, layer.kind):
            return cause
    if kind == source_kinds.ONNX and layer.kind not in ONNX2TF_OPERATORS:
        return _UNKNOWN
    if _CONVOLUTION.fullmatch(layer.kind):
        for name, values in layer.steps.items():
            if max(values, default=1) > MAX_STEP:
                shown = " x ".join(map(str, values))
                return _Cause(
                    f"has {name} {shown}; a convolution's kernel takes up to {MAX_STEP}",
                    "Use smaller steps, or reduce the input before this layer: a pooling layer takes strides up to "
                    "65535.",
                )
    return None
