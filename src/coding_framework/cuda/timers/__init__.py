"""How fast is it? Modelled from exact counts, or measured on a GPU; never mixed."""
