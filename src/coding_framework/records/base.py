"""What every record shares: frozen, strict about unknown fields, floats that JSON can hold."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Record(BaseModel):
    """An immutable value. Fields are documented by the string under each of them."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        arbitrary_types_allowed=True,
        use_attribute_docstrings=True,
        ser_json_inf_nan="strings",
    )
