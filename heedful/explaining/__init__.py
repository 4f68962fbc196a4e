"""A subject and a text become an explanation."""
