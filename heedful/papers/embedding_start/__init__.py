"""Our own study: where embeddings start, and how long training takes."""
