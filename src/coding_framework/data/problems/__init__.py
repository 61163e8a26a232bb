"""Problems that a user brings: a naive kernel with a header, turned into a task of the judge."""
