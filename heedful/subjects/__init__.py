"""A model that can be audited and explained, opened by name or given, and texts as it reads them."""
