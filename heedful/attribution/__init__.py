"""How much each item matters to a prediction: by gradients, and by leaving it out."""
