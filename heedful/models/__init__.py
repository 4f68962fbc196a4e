"""Models with attention: embedding, encoder, attention, head."""
