"""The light C++ headers: what an extension sees in place of torch's own."""
