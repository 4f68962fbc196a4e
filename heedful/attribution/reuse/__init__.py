"""Fast exact leave-one-out: what the whole text's encoding already has is reused, and only what changes is computed."""
