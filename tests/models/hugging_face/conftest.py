from support.tiny_encoders import encoder

__all__ = ["encoder"]
