"""Serrano and Smith (2019), Is Attention Interpretable?"""
