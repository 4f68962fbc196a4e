"""Does the attention of a fine-tuned transformer explain its decisions? Claims of several papers."""
