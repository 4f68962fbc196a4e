"""Sun and Lu (2020), Understanding Attention for Text Classification."""
