"""Models as ONNX graphs, in double precision: scaling, network, bounds, and for classifiers labels and probabilities.

The converters are those of skl2onnx, so whole pipelines export as well. Graphs use operators that onnxruntime has in
float64 on processors.
"""

from skscn.onnx._converters import register_converters
from skscn.onnx._export import step_state, to_onnx

__all__ = ["register_converters", "step_state", "to_onnx"]
