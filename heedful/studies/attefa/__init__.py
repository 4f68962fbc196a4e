"""Amini and Kosseim, How (Un)Faithful is Attention?"""
