import os
import signal

import pytest
import torch
from hypothesis import settings

from support.folders import outside

# A shell starts background jobs deaf to Ctrl-C, and their children inherit it: tests of Ctrl-C must not depend on that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# torch's first call is slow, so no deadline; the same examples every time, so a failure can be seen again.
EXAMPLES = int(os.environ.get("HEEDFUL_EXAMPLES", "15"))
settings.register_profile("heedful", deadline=None, derandomize=True, max_examples=EXAMPLES)
settings.load_profile("heedful")
torch.set_num_threads(1)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    for name in (name for mark in item.iter_markers("data") for name in mark.args):
        if not outside(name).exists():
            pytest.skip(f"{name} is not here")
