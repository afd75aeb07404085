"""Lower DEPTHWISE_CONV_2D of one input channel on cores with the DSP extension to the kernel of CONV_2D."""

from __future__ import annotations

from arenite.firmware.generator.lower.conv.conv_2d_dsp import ConvolutionDsp
from arenite.firmware.generator.lower.core.variant import variant


@variant
class DepthwiseOneChannelDsp(ConvolutionDsp):
    op_name = "DEPTHWISE_CONV_2D"
    priority = 210
    axis = 3
