"""Amini and Kosseim (2022), How (Un)Faithful is Attention?"""
