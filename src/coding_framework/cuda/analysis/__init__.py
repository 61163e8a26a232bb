"""What can be known of a source from its syntax tree alone."""
