import torch
from hypothesis import settings

# torch's first call is slow, so no deadline; the same examples every time, so a failure can be seen again.
settings.register_profile("heedful", deadline=None, derandomize=True, max_examples=50)
settings.load_profile("heedful")
torch.set_num_threads(1)
