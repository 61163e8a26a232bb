"""What the loaders of archives share: reading, checking, ordering, difficulty, hidden shapes.

Reading order: `rows` (what comes out), `reading` and `hub` (where rows come from), `row_checks` (what makes
a row sound), `order` (how they are handed out), `hidden_constants` (other shapes for a reference).
"""
