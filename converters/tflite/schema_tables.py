"""The tables of the TFLite flatbuffer schema, as data for the code that verifies .tflite files.

Each line of ``SCHEMA`` describes one table: its name, then its fields in the order of their slots as ``name:type`` or
``name:type=default``. A line that begins with spaces continues the line before it. ``-`` stands for a slot that is no
longer used. A type is a scalar (``i8``, ``u8``, ``i16``, ``u16``, ``i32``, ``u32``, ``i64``, ``u64``, ``f32``,
``bool``), ``string``, the name of an enumeration (one of ``ENUMS``), the name of a table, ``[type]`` for a vector, or
``<Name>`` for a union. The slot before a union's slot says which table the union holds: its number in ``UNIONS``. The
source is LiteRT's ``schema.fbs``; ``tests/converters/tflite/test_schema_tables.py`` compares the tables with the
installed LiteRT.
"""

from __future__ import annotations

#: The storage type and the number of values of each enumeration. The values count up from 0.
ENUMS: dict[str, tuple[str, int]] = {
    "ActivationFunctionType": ("i8", 6),
    "CombinerType": ("i8", 3),
    "CustomOptionsFormat": ("i8", 1),
    "DimensionType": ("i8", 2),
    "FullyConnectedOptionsWeightsFormat": ("i8", 2),
    "LSHProjectionType": ("i8", 3),
    "LSTMKernelType": ("i8", 2),
    "MirrorPadMode": ("i8", 2),
    "Padding": ("i8", 2),
    "ReduceWindowFunction": ("i32", 7),
    "RngAlgorithm": ("i8", 3),
    "TensorType": ("i8", 23),
}

_BUILTIN_OPTIONS = """
Conv2DOptions DepthwiseConv2DOptions ConcatEmbeddingsOptions LSHProjectionOptions Pool2DOptions
SVDFOptions RNNOptions FullyConnectedOptions SoftmaxOptions ConcatenationOptions AddOptions L2NormOptions
LocalResponseNormalizationOptions LSTMOptions ResizeBilinearOptions CallOptions ReshapeOptions
SkipGramOptions SpaceToDepthOptions EmbeddingLookupSparseOptions MulOptions PadOptions GatherOptions
BatchToSpaceNDOptions SpaceToBatchNDOptions TransposeOptions ReducerOptions SubOptions DivOptions
SqueezeOptions SequenceRNNOptions StridedSliceOptions ExpOptions TopKV2Options SplitOptions
LogSoftmaxOptions CastOptions DequantizeOptions MaximumMinimumOptions ArgMaxOptions LessOptions NegOptions
PadV2Options GreaterOptions GreaterEqualOptions LessEqualOptions SelectOptions SliceOptions
TransposeConvOptions SparseToDenseOptions TileOptions ExpandDimsOptions EqualOptions NotEqualOptions
ShapeOptions PowOptions ArgMinOptions FakeQuantOptions PackOptions LogicalOrOptions OneHotOptions
LogicalAndOptions LogicalNotOptions UnpackOptions FloorDivOptions SquareOptions ZerosLikeOptions
FillOptions BidirectionalSequenceLSTMOptions BidirectionalSequenceRNNOptions
UnidirectionalSequenceLSTMOptions FloorModOptions RangeOptions ResizeNearestNeighborOptions
LeakyReluOptions SquaredDifferenceOptions MirrorPadOptions AbsOptions SplitVOptions UniqueOptions
ReverseV2Options AddNOptions GatherNdOptions CosOptions WhereOptions RankOptions ReverseSequenceOptions
MatrixDiagOptions QuantizeOptions MatrixSetDiagOptions HardSwishOptions IfOptions WhileOptions
DepthToSpaceOptions NonMaxSuppressionV4Options NonMaxSuppressionV5Options ScatterNdOptions SelectV2Options
DensifyOptions SegmentSumOptions BatchMatMulOptions CumsumOptions CallOnceOptions BroadcastToOptions
Rfft2dOptions Conv3DOptions HashtableOptions HashtableFindOptions HashtableImportOptions
HashtableSizeOptions VarHandleOptions ReadVariableOptions AssignVariableOptions RandomOptions
BucketizeOptions GeluOptions DynamicUpdateSliceOptions UnsortedSegmentProdOptions
UnsortedSegmentMaxOptions UnsortedSegmentMinOptions UnsortedSegmentSumOptions ATan2Options SignOptions
BitcastOptions BitwiseXorOptions RightShiftOptions
"""

_BUILTIN_OPTIONS2 = """
StablehloConcatenateOptions StablehloBroadcastInDimOptions StablehloSliceOptions
StablehloConvolutionOptions StablehloCustomCallOptions StablehloReduceOptions StablehloScatterOptions
StablehloCompareOptions StablehloDynamicSliceOptions StablehloPadOptions StablehloIotaOptions
StablehloDotGeneralOptions StablehloReduceWindowOptions StablehloSortOptions StablehloWhileOptions
StablehloGatherOptions StablehloTransposeOptions DilateOptions StablehloRngBitGeneratorOptions
ReduceWindowOptions StableHLOCompositeOptions StablehloShiftLeftOptions StablehloCaseOptions
"""

#: The tables that each union can hold. The first table has the number 1. The number 0 means that the union is empty.
UNIONS: dict[str, tuple[str, ...]] = {
    "QuantizationDetails": ("CustomQuantization", "BlockwiseQuantization", "MultiAxisQuantization"),
    "SparseIndexVector": ("Int32Vector", "Uint16Vector", "Uint8Vector"),
    "BuiltinOptions": tuple(_BUILTIN_OPTIONS.split()),
    "BuiltinOptions2": tuple(_BUILTIN_OPTIONS2.split()),
}

SCHEMA = """
CustomQuantization custom:[u8]
BlockwiseQuantization scales:i32 zero_points:i32 block_size:i32 block_shape:[i32]
MultiAxisQuantization scales:i32 zero_points:i32 block_size:i32 quantized_dimensions:[i32]
QuantizationParameters min:[f32] max:[f32] scale:[f32] zero_point:[i64] details_type:u8
    details:<QuantizationDetails> quantized_dimension:i32
Int32Vector values:[i32]
Uint16Vector values:[u16]
Uint8Vector values:[u8]
DimensionMetadata format:DimensionType dense_size:i32 array_segments_type:u8
    array_segments:<SparseIndexVector> array_indices_type:u8 array_indices:<SparseIndexVector>
SparsityParameters traversal_order:[i32] block_map:[i32] dim_metadata:[DimensionMetadata]
VariantSubType shape:[i32] type:TensorType has_rank:bool
Tensor shape:[i32] type:TensorType buffer:u32 name:string quantization:QuantizationParameters
    is_variable:bool sparsity:SparsityParameters shape_signature:[i32] has_rank:bool
    variant_tensors:[VariantSubType] external_buffer:u32
StablehloGatherOptions offset_dims:[i64] collapsed_slice_dims:[i64] start_index_map:[i64]
    index_vector_dim:i64 slice_sizes:[i64] indices_are_sorted:bool
StablehloTransposeOptions permutation:[i64]
StablehloDotGeneralOptions lhs_batching_dimensions:[i64] rhs_batching_dimensions:[i64]
    lhs_contracting_dimensions:[i64] rhs_contracting_dimensions:[i64] precision_config:[u32]
StablehloReduceWindowOptions window_dimensions:[i64] window_strides:[i64] base_dilations:[i64]
    window_dilations:[i64] padding:[i64] body_subgraph_index:i32
StablehloWhileOptions cond_subgraph_index:i32 body_subgraph_index:i32
StablehloSortOptions dimension:i64 is_stable:bool comparator_subgraph_index:i32
StablehloConcatenateOptions dimension:i64
StablehloBroadcastInDimOptions broadcast_dimensions:[i64]
StablehloCompareOptions comparison_direction:u32 compare_type:u32
StablehloDynamicSliceOptions slice_sizes:[i64]
StablehloPadOptions edge_padding_low:[i64] edge_padding_high:[i64] interior_padding:[i64]
StablehloIotaOptions iota_dimension:i64
StablehloCustomCallOptions call_target_name:string has_side_effect:bool backend_config:string
    api_version:i32 called_computations:[i32] custom_attributes:[u8]
StablehloReduceOptions dimensions:[i64] body_subgraph_index:i32
StablehloSliceOptions start_indices:[i64] limit_indices:[i64] strides:[i64]
StablehloConvolutionOptions window_strides:[i64] padding:[i64] lhs_dilation:[i64] rhs_dilation:[i64]
    window_reversal:[bool] input_batch_dimension:i64 input_feature_dimension:i64
    input_spatial_dimensions:[i64] kernel_input_feature_dimension:i64 kernel_output_feature_dimension:i64
    kernel_spatial_dimensions:[i64] output_batch_dimension:i64 output_feature_dimension:i64
    output_spatial_dimensions:[i64] feature_group_count:i64 batch_group_count:i64 precision_config:[u32]
StablehloScatterOptions indices_are_sorted:bool update_window_dims:[i64] inserted_window_dims:[i64]
    scatter_dims_to_operand_dims:[i64] index_vector_dim:i64 unique_indices:bool
    update_computation_subgraph_index:i32
StablehloCaseOptions branch_subgraph_indices:[i32]
StablehloRngBitGeneratorOptions algorithm:RngAlgorithm
Conv2DOptions padding:Padding stride_w:i32 stride_h:i32 fused_activation_function:ActivationFunctionType
    dilation_w_factor:i32=1 dilation_h_factor:i32=1 quantized_bias_type:TensorType
Conv3DOptions padding:Padding stride_d:i32 stride_w:i32 stride_h:i32
    fused_activation_function:ActivationFunctionType dilation_d_factor:i32=1 dilation_w_factor:i32=1
    dilation_h_factor:i32=1
Pool2DOptions padding:Padding stride_w:i32 stride_h:i32 filter_width:i32 filter_height:i32
    fused_activation_function:ActivationFunctionType
DepthwiseConv2DOptions padding:Padding stride_w:i32 stride_h:i32 depth_multiplier:i32
    fused_activation_function:ActivationFunctionType dilation_w_factor:i32=1 dilation_h_factor:i32=1
ConcatEmbeddingsOptions num_channels:i32 num_columns_per_channel:[i32] embedding_dim_per_channel:[i32]
LSHProjectionOptions type:LSHProjectionType
SVDFOptions rank:i32 fused_activation_function:ActivationFunctionType asymmetric_quantize_inputs:bool
RNNOptions fused_activation_function:ActivationFunctionType asymmetric_quantize_inputs:bool
SequenceRNNOptions time_major:bool fused_activation_function:ActivationFunctionType
    asymmetric_quantize_inputs:bool
BidirectionalSequenceRNNOptions time_major:bool fused_activation_function:ActivationFunctionType
    merge_outputs:bool asymmetric_quantize_inputs:bool
FullyConnectedOptions fused_activation_function:ActivationFunctionType
    weights_format:FullyConnectedOptionsWeightsFormat keep_num_dims:bool asymmetric_quantize_inputs:bool
    quantized_bias_type:TensorType quant_spec:[u8]
SoftmaxOptions beta:f32
ConcatenationOptions axis:i32 fused_activation_function:ActivationFunctionType
AddOptions fused_activation_function:ActivationFunctionType pot_scale_int16:bool=1
MulOptions fused_activation_function:ActivationFunctionType
L2NormOptions fused_activation_function:ActivationFunctionType
LocalResponseNormalizationOptions radius:i32 bias:f32 alpha:f32 beta:f32
LSTMOptions fused_activation_function:ActivationFunctionType cell_clip:f32 proj_clip:f32
    kernel_type:LSTMKernelType asymmetric_quantize_inputs:bool
UnidirectionalSequenceLSTMOptions fused_activation_function:ActivationFunctionType cell_clip:f32
    proj_clip:f32 time_major:bool asymmetric_quantize_inputs:bool diagonal_recurrent_tensors:bool
BidirectionalSequenceLSTMOptions fused_activation_function:ActivationFunctionType cell_clip:f32
    proj_clip:f32 merge_outputs:bool time_major:bool=1 asymmetric_quantize_inputs:bool
ResizeBilinearOptions - - align_corners:bool half_pixel_centers:bool
ResizeNearestNeighborOptions align_corners:bool half_pixel_centers:bool
CallOptions subgraph:u32
PadOptions
PadV2Options
ReshapeOptions new_shape:[i32]
SpaceToBatchNDOptions
BatchToSpaceNDOptions
SkipGramOptions ngram_size:i32 max_skip_size:i32 include_all_ngrams:bool
SpaceToDepthOptions block_size:i32
DepthToSpaceOptions block_size:i32
SubOptions fused_activation_function:ActivationFunctionType pot_scale_int16:bool=1
DivOptions fused_activation_function:ActivationFunctionType
TopKV2Options
EmbeddingLookupSparseOptions combiner:CombinerType
GatherOptions axis:i32 batch_dims:i32
TransposeOptions
ExpOptions
CosOptions
ReducerOptions keep_dims:bool
SqueezeOptions squeeze_dims:[i32]
SplitOptions num_splits:i32
SplitVOptions num_splits:i32
StridedSliceOptions begin_mask:i32 end_mask:i32 ellipsis_mask:i32 new_axis_mask:i32 shrink_axis_mask:i32
    offset:bool
LogSoftmaxOptions
CastOptions in_data_type:TensorType out_data_type:TensorType
DequantizeOptions
MaximumMinimumOptions
TileOptions
ArgMaxOptions output_type:TensorType
ArgMinOptions output_type:TensorType
GreaterOptions
GreaterEqualOptions
LessOptions
LessEqualOptions
NegOptions
SelectOptions
SliceOptions
TransposeConvOptions padding:Padding stride_w:i32 stride_h:i32
    fused_activation_function:ActivationFunctionType quantized_bias_type:TensorType
ExpandDimsOptions
SparseToDenseOptions validate_indices:bool
EqualOptions
NotEqualOptions
ShapeOptions out_type:TensorType
RankOptions
PowOptions
FakeQuantOptions min:f32 max:f32 num_bits:i32 narrow_range:bool
PackOptions values_count:i32 axis:i32
LogicalOrOptions
OneHotOptions axis:i32
AbsOptions
HardSwishOptions
LogicalAndOptions
LogicalNotOptions
UnpackOptions num:i32 axis:i32
FloorDivOptions
SquareOptions
ZerosLikeOptions
FillOptions
FloorModOptions
RangeOptions
LeakyReluOptions alpha:f32
SquaredDifferenceOptions
MirrorPadOptions mode:MirrorPadMode
UniqueOptions idx_out_type:TensorType=2
ReverseV2Options
AddNOptions
GatherNdOptions
WhereOptions
ReverseSequenceOptions seq_dim:i32 batch_dim:i32
MatrixDiagOptions
QuantizeOptions
MatrixSetDiagOptions
IfOptions then_subgraph_index:i32 else_subgraph_index:i32
CallOnceOptions init_subgraph_index:i32
WhileOptions cond_subgraph_index:i32 body_subgraph_index:i32
NonMaxSuppressionV4Options
NonMaxSuppressionV5Options
ScatterNdOptions
SelectV2Options
DensifyOptions
SegmentSumOptions
BatchMatMulOptions adj_x:bool adj_y:bool asymmetric_quantize_inputs:bool
CumsumOptions exclusive:bool reverse:bool
BroadcastToOptions
Rfft2dOptions
HashtableOptions table_id:i32 key_dtype:TensorType value_dtype:TensorType
HashtableFindOptions
HashtableImportOptions
HashtableSizeOptions
VarHandleOptions container:string shared_name:string
ReadVariableOptions
AssignVariableOptions
RandomOptions seed:i64 seed2:i64
BucketizeOptions boundaries:[f32]
GeluOptions approximate:bool
DynamicUpdateSliceOptions
UnsortedSegmentProdOptions
UnsortedSegmentMaxOptions
UnsortedSegmentSumOptions
ATan2Options
UnsortedSegmentMinOptions
SignOptions
BitcastOptions
BitwiseXorOptions
RightShiftOptions
DilateOptions
ReduceWindowOptions reduce_function:ReduceWindowFunction
OperatorCode deprecated_builtin_code:i8 custom_code:string version:i32=1 builtin_code:i32
StableHLOCompositeOptions name:string decomposition_subgraph_index:i32 composite_attributes:[u8]
    composite_attributes_format:i8 version:i32
StablehloShiftLeftOptions
Operator opcode_index:u32 inputs:[i32] outputs:[i32] builtin_options_type:u8
    builtin_options:<BuiltinOptions> custom_options:[u8] custom_options_format:CustomOptionsFormat
    mutating_variable_inputs:[bool] intermediates:[i32] large_custom_options_offset:u64
    large_custom_options_size:u64 builtin_options2_type:u8 builtin_options2:<BuiltinOptions2>
    debug_metadata_index:i32=-1
SubGraph tensors:[Tensor] inputs:[i32] outputs:[i32] operators:[Operator] name:string
    debug_metadata_index:i32=-1
Buffer data:[u8] offset:u64 size:u64
ExternalBufferGroup name:string
ExternalBuffer id:u32 group:u32 offset:u64 length:u64 packing:string
Metadata name:string buffer:u32
TensorMap name:string tensor_index:u32
SignatureDef inputs:[TensorMap] outputs:[TensorMap] signature_key:string - subgraph_index:u32
Model version:u32 operator_codes:[OperatorCode] subgraphs:[SubGraph] description:string buffers:[Buffer]
    metadata_buffer:[i32] metadata:[Metadata] signature_defs:[SignatureDef]
    external_buffer_groups:[ExternalBufferGroup] external_buffers:[ExternalBuffer]
"""
