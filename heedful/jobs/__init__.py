"""Settings become a plan, and a plan becomes folders in the store."""
