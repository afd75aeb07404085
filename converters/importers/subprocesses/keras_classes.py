"""Check the classes that a Keras file names, before Keras reads the file.

Keras creates whatever class a file names, and some of its own classes run code, load other files or unpickle objects:
``Lambda``, ``TFSMLayer``, ``TorchModuleWrapper``, ``StringLookup``. Only the classes that this module lists are
accepted. The names are compared after the JSON is parsed, because JSON can spell a name in several ways.
"""

import re
from typing import Any

_LAYERS = """
Activation ActivityRegularization AdaptiveAveragePooling1D AdaptiveAveragePooling2D AdaptiveAveragePooling3D
AdaptiveMaxPooling1D AdaptiveMaxPooling2D AdaptiveMaxPooling3D Add AdditiveAttention AlphaDropout Attention AugMix
AutoContrast Average AveragePooling1D AveragePooling2D AveragePooling3D AvgPool1D AvgPool2D AvgPool3D
BatchNormalization BatchNormalizationV1 BatchNormalizationV2 Bidirectional CategoryEncoding CenterCrop Concatenate
Conv1D Conv1DTranspose Conv2D Conv2DTranspose Conv3D Conv3DTranspose ConvLSTM1D ConvLSTM2D ConvLSTM3D
ConvLSTM1DCell ConvLSTM2DCell ConvLSTM3DCell Convolution1D Convolution1DTranspose Convolution2D
Convolution2DTranspose Convolution3D Convolution3DTranspose Cropping1D Cropping2D Cropping3D CuDNNGRU CuDNNLSTM CutMix
Dense DepthwiseConv1D DepthwiseConv2D Discretization Dot Dropout ELU EinsumDense Embedding Equalization Flatten
Functional GRU GRUCell GRUCellV2 GRUV2 GaussianDropout GaussianNoise GlobalAveragePooling1D GlobalAveragePooling2D
GlobalAveragePooling3D GlobalAvgPool1D GlobalAvgPool2D GlobalAvgPool3D GlobalMaxPool1D GlobalMaxPool2D
GlobalMaxPool3D GlobalMaxPooling1D GlobalMaxPooling2D GlobalMaxPooling3D GroupNormalization GroupQueryAttention
GroupedQueryAttention HashedCrossing Hashing Identity InputLayer LSTM LSTMCell LSTMCellV2 LSTMV2 LayerNormalization
LeakyReLU LocallyConnected1D LocallyConnected2D Masking MaxPool1D MaxPool2D MaxPool3D MaxPooling1D MaxPooling2D
MaxPooling3D Maximum MelSpectrogram Minimum MixUp Model MultiHeadAttention Multiply Normalization PReLU Permute
RMSNormalization RNN RandAugment RandomBrightness RandomColorDegeneration RandomColorJitter RandomContrast RandomCrop
RandomElasticTransform RandomErasing RandomFlip RandomGaussianBlur RandomGrayscale RandomHeight RandomHue RandomInvert
RandomPerspective RandomPosterization RandomRotation RandomSaturation RandomSharpness RandomShear RandomTranslation
RandomWidth RandomZoom ReLU RepeatVector Rescaling Reshape Resizing ReversibleEmbedding STFTSpectrogram
SeparableConv1D SeparableConv2D SeparableConvolution1D SeparableConvolution2D Sequential SimpleRNN SimpleRNNCell
Softmax Solarization SpatialDropout1D SpatialDropout2D SpatialDropout3D SpectralNormalization StackedRNNCells Subtract
SyncBatchNormalization ThresholdedReLU TimeDistributed UnitNormalization UpSampling1D UpSampling2D UpSampling3D
ZeroPadding1D ZeroPadding2D ZeroPadding3D
"""

#: Operations of ``keras.ops`` that models of the functional interface contain. They compute with tensors only.
_OPERATIONS = """
Abs Absolute All Amax Amin Any Append Arange Arccos Arccosh Arcsin Arcsinh Arctan Arctan2 Arctanh Argmax Argmin
Argsort Array ArraySplit AveragePool BatchNorm BitwiseAnd BitwiseInvert BitwiseNot BitwiseOr BitwiseXor BroadcastTo
Cast Cbrt Ceil Celu Clip Conv ConvTranspose ConvertToTensor Copy Cos Cosh CountNonzero Cross Cumprod Cumsum
DepthToSpace DepthwiseConv Diag Diagonal Diff Digitize Divide DivideNoNan DotProductAttention Einsum Elu Equal Erf Erfc
Exp Exp2 ExpandDims Expm1 ExtractPatches Flip Floor FloorDivide Fmod Full FullLike Gelu GetItem Glu Greater
GreaterEqual HardShrink HardSigmoid HardSilu HardTanh Hstack Hypot Inner Isclose Isfinite Isinf Isnan LayerNorm
LeakyRelu Less LessEqual Linspace Log Log10 Log1p Log2 LogSigmoid LogSoftmax Logaddexp LogicalAnd LogicalNot LogicalOr
LogicalXor Logsumexp Matmul Max MaxPool Mean Median Meshgrid Min Mod Moments Moveaxis NanToNum Ndim Negative Nonzero
Norm Normalize NotEqual OneHot OnesLike Outer Pad Power Prod RFFT RGBToGrayscale RMSNorm Ravel Reciprocal Relu Relu6
Repeat Resize Roll Rot90 Round Rsqrt STFT SaturateCast Scatter ScatterUpdate Select Selu SeparableConv Sigmoid Sign
Silu Sin Sinc Sinh Size Slice SliceUpdate SoftShrink Softplus Softsign Sort SpaceToDepth SparsePlus SparseSigmoid
Sparsemax Split Sqrt Square Squareplus Squeeze Stack Std StopGradient Sum Swapaxes Take TakeAlongAxis Tan Tanh
TanhShrink Tensordot Threshold Tile TopK Trace Transpose Tril Triu TrueDivide Trunc Unfold Unstack Var Vdot Vstack
Where ZerosLike
"""

#: Initializers, regularizers, constraints and policies of data types.
_PARTS_OF_LAYERS = """
Constant GlorotNormal GlorotUniform HeNormal HeUniform IdentityInitializer LecunNormal LecunUniform Ones Orthogonal
OrthogonalInitializer RandomNormal RandomUniform STFTInitializer TruncatedNormal VarianceScaling Zeros constant
glorot_normal glorot_uniform he_normal he_uniform identity lecun_normal lecun_uniform ones orthogonal random_normal
random_uniform truncated_normal variance_scaling zeros
L1 L1L2 L2 OrthogonalRegularizer l1 l1_l2 l2 orthogonal_regularizer
MaxNorm MinMaxNorm NonNeg RadialConstraint UnitNorm max_norm min_max_norm non_neg radial_constraint unit_norm
DTypePolicy DTypePolicyMap FloatDTypePolicy Policy QuantizedDTypePolicy QuantizedFloat8DTypePolicy
"""

#: Optimizers, learning rate schedules, losses and metrics: a model inside another model keeps its training settings.
_TRAINING = """
Adadelta Adafactor Adagrad Adam AdamW Adamax Ftrl Lamb Lion LossScaleOptimizer Muon Nadam RMSprop SGD
CosineDecay CosineDecayRestarts ExponentialDecay InverseTimeDecay PiecewiseConstantDecay PolynomialDecay
BinaryCrossentropy BinaryFocalCrossentropy CategoricalCrossentropy CategoricalFocalCrossentropy CategoricalHinge
CosineSimilarity Dice Hinge Huber KLDivergence LogCosh MeanAbsoluteError MeanAbsolutePercentageError MeanSquaredError
MeanSquaredLogarithmicError Poisson SparseCategoricalCrossentropy SquaredHinge Tversky
AUC Accuracy BinaryAccuracy BinaryIoU CategoricalAccuracy F1Score FBetaScore FalseNegatives FalsePositives IoU
MeanIoU OneHotIoU OneHotMeanIoU Precision PrecisionAtRecall R2Score Recall RecallAtPrecision RootMeanSquaredError
SensitivityAtSpecificity SparseCategoricalAccuracy SparseTopKCategoricalAccuracy SpecificityAtSensitivity
TopKCategoricalAccuracy TrueNegatives TruePositives
"""

#: Wrappers of the TensorFlow Model Optimization Toolkit.
_OPTIMIZATION = """
PruneLowMagnitude ConstantSparsity ClusterWeights ClusterWeightsMHA ClusterWeightsRNN QuantizeAnnotate
QuantizeAwareActivation QuantizeLayer QuantizeWrapper QuantizeWrapperV2 AllValuesQuantizer FixedQuantizeConfig
FixedQuantizer LastValueQuantizer MovingAverageQuantizer NoOpActivation NoOpQuantizeConfig NoQuantizer OutputOnlyConfig
ClusterPreserveDefault8BitConvWeightsQuantizer ClusterPreserveDefault8BitWeightsQuantizer
PrunePreserveDefault8BitConvWeightsQuantizer PrunePreserveDefault8BitWeightsQuantizer
Default8BitActivationQuantizeConfig Default8BitConvQuantizeConfig Default8BitConvTransposeQuantizeConfig
Default8BitConvTransposeWeightsQuantizer Default8BitConvWeightsQuantizer Default8BitOutputQuantizeConfig
Default8BitQuantizeConfig Default8BitQuantizeConfigRNN DefaultNBitActivationQuantizeConfig
DefaultNBitConvQuantizeConfig DefaultNBitConvTransposeQuantizeConfig DefaultNBitConvTransposeWeightsQuantizer
DefaultNBitConvWeightsQuantizer DefaultNBitOutputQuantizeConfig DefaultNBitQuantizeConfig
DefaultNBitQuantizeConfigRNN
"""

#: Classes by which Keras writes values that JSON has no type for.
_VALUES = """
TensorShape CompositeTensor TypeSpec __bytes__ __ellipsis__ __keras_tensor__ __numpy__ __slice__ __tensor__ __tuple__
"""

_CLASSES = frozenset(
    f"{_LAYERS} {_OPERATIONS} {_PARTS_OF_LAYERS} {_TRAINING} {_OPTIMIZATION} {_VALUES}".split()
)

_ACTIVATIONS_NAMES = """
celu elu exponential gelu glu hard_shrink hard_sigmoid hard_silu hard_swish hard_tanh leaky_relu linear log_sigmoid
log_softmax mish relu relu6 selu sigmoid silu soft_shrink softmax softplus softsign sparse_plus sparse_sigmoid
sparsemax squareplus swish tanh tanh_shrink threshold
"""
_ACTIVATIONS = frozenset(_ACTIVATIONS_NAMES.split())

#: Keras 2 stores a call of a TensorFlow function as one of these layers with the function's name. TensorFlow has
#: functions that read and write files, so only the function names that match ``_FUNCTION`` and ``_FUNCTIONS`` are
#: accepted.
_CALLS = ("TFOpLambda", "SlicingOpLambda")
_FUNCTION = re.compile(r"(compat\.v1\.)?((math|nn|__operators__|linalg|signal|image|bitwise)\.)?[a-z0-9_]+")
_FUNCTIONS_NAMES = """
abs add add_n argmax argmin argsort batch_to_space boolean_mask broadcast_to cast clip_by_norm clip_by_value concat
constant convert_to_tensor cos cosh cumsum divide edit_distance einsum ensure_shape equal exp expand_dims
extract_image_patches eye fill floor floordiv floormod gather gather_nd greater greater_equal identity less less_equal
linspace logical_and logical_not logical_or matmul maximum meshgrid minimum multiply negative norm not_equal one_hot
ones ones_like pad pow range rank realdiv reduce_all reduce_any reduce_logsumexp reduce_max reduce_mean reduce_min
reduce_prod reduce_sum repeat reshape reverse roll round saturate_cast scalar_mul shape shape_n sigmoid sign sin sinh
size slice sort space_to_batch space_to_batch_nd space_to_depth depth_to_space split sqrt square squeeze stack
stop_gradient strided_slice subtract tan tanh tensordot tile to_float to_int32 transpose truediv unstack where zeros
zeros_like
"""
_FUNCTIONS = frozenset(_FUNCTIONS_NAMES.split())

_PACKAGES = ("keras", "tf_keras", "tensorflow_model_optimization", "builtins")


class ClassRefused(Exception):
    """The file names a class that is not accepted. ``name`` is the class as the user knows it, or the function that it
    calls."""

    def __init__(self, name: Any) -> None:
        super().__init__(name)
        self.name = str(name)


def check_classes(config: Any) -> Any:
    """Return the names of all classes in ``config``, a parsed JSON value.

    Raises ``ClassRefused`` for the first class that is not accepted.
    """
    names = set()
    pending = [config]  # a list instead of recursion, because a file may nest deeper than Python's stack
    while pending:
        value = pending.pop()
        if isinstance(value, list):
            pending.extend(value)
        elif isinstance(value, dict):
            if "class_name" in value:
                names.add(_checked(value))
            pending.extend(value.values())
    return names


def _checked(value: Any) -> Any:
    """Return the name of the class in ``value``, a JSON object with "class_name". Raises ``ClassRefused``."""
    name, config = value["class_name"], value.get("config")
    if not isinstance(name, str):
        raise ClassRefused(name)
    module = value.get("module")
    if module is not None and str(module).split(".")[0] not in _PACKAGES:
        raise ClassRefused(f"{module}.{name}")
    if name == "function":
        if config not in _ACTIVATIONS or value.get("registered_name") not in (None, "function", config):
            raise ClassRefused(config)
        return name
    if name in _CALLS:
        function = config.get("function") if isinstance(config, dict) else None
        if not isinstance(function, str) or not _accepted_function(function):
            raise ClassRefused(f"tf.{function}")
        return name
    if name == "InstanceProperty":  # an attribute of a tensor, such as its shape
        attribute = config.get("attr_name") if isinstance(config, dict) else None
        if not isinstance(attribute, str) or attribute.startswith("_"):
            raise ClassRefused(f"{name} {attribute}")
        return name
    registered = value.get("registered_name")
    if registered is not None and (
        not isinstance(registered, str) or registered.rpartition(">")[2] not in _CLASSES
    ):
        raise ClassRefused(registered)
    plain = name.rpartition(">")[2]  # the Model Optimization Toolkit writes "Package>Class"
    if plain not in _CLASSES:
        raise ClassRefused(plain)
    return plain


def _accepted_function(name: Any) -> Any:
    if not _FUNCTION.fullmatch(name):
        return False
    plain = name.removeprefix("compat.v1.")
    return "." in plain or plain in _FUNCTIONS
