"""Where models come from: see also `heedful.store` and `heedful.jobs`."""
