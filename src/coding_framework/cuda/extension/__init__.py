"""The `extension` contract: a `.cu` with a pybind `forward`, compiled without torch headers if it fits."""
