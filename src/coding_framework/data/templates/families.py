"""Which family of the catalogue each operation of the templates belongs to.

Guarantees: every operation has a family, and operations of a held-out one are never drawn. A weighted
sum or an average of arrays, the larger or the smaller of two: these weigh or choose between arrays, so
they are with `blend`; a squared distance of rows is a squared-error loss up to a factor, so it is with
`loss`.
"""

from __future__ import annotations

_MEMBERS: dict[str, str] = {
    "polynomial": "square cube cubic quadratic",
    "elementary": "absolute negate root decay exponential gaussian bell distance_to hypotenuse safe_divide",
    "scaling": "multiply_by divide_by affine",
    "addition": "shift add sum_three add_bias",
    "activation": "relu leaky_relu relu_cap sigmoid swish hyperbolic softsign hard_sigmoid",
    "clipping": "clamp floor_at cap_at",
    "difference": "subtract squared_error distance scaled_difference centre_rows normalise",
    "product": "multiply multiply_three scale_columns scale_rows",
    "multiply_add": "add_scaled multiply_shift multiply_add scale_shift",
    "gated": "gate",
    "bias_activation": (
        "add_relu add_tanh multiply_relu bias_relu bias_sigmoid bias_tanh bias_square scale_relu"
    ),
    "blend": "blend choose weighted average maximum minimum cap_columns",
    "loss": "row_distance",
    "row_reduction": (
        "row_total row_mean row_max row_min row_sumsq row_mean_square row_norm row_abs_sum row_abs_max "
        "row_relu_sum row_exp_sum row_dot"
    ),
}
OPERATION_FAMILIES: dict[str, str] = {
    name: family for family, names in _MEMBERS.items() for name in names.split()
}
"""Operation → family."""
