import os
import signal

import torch
from hypothesis import settings

# A shell starts background jobs deaf to Ctrl-C, and their children inherit it: tests of Ctrl-C must not depend on that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# torch's first call is slow, so no deadline; the same examples every time, so a failure can be seen again.
EXAMPLES = int(os.environ.get("HEEDFUL_EXAMPLES", "15"))
settings.register_profile("heedful", deadline=None, derandomize=True, max_examples=EXAMPLES)
settings.load_profile("heedful")
torch.set_num_threads(1)
