# A worker for sweeps: `dask worker`, with Heedful and torch for the CPU. No shared disk is needed: a worker gets settings
# and returns files. CPU_WHEELS is the address of PyTorch's index of CPU wheels, as its installation page names it:
#
#   docker build --build-arg CPU_WHEELS=ADDRESS --tag heedful .
#   docker run --rm heedful tcp://HOST:8786
#
# Another command of the image: docker run --rm --entrypoint heedful heedful --version
FROM python:3.11.14-slim-bookworm

# Idle threads must wait, not spin, and freed memory is kept: docs/sweeps.md says why.
ENV OMP_NUM_THREADS=1 \
    OMP_WAIT_POLICY=PASSIVE \
    MALLOC_TRIM_THRESHOLD_=2000000000 \
    MALLOC_MMAP_THRESHOLD_=2000000000 \
    PIP_NO_CACHE_DIR=1 \
    PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PYTHONUNBUFFERED=1

# torch first and exactly, without CUDA: a looser pin may fetch gigabytes that no worker here uses.
ARG CPU_WHEELS
RUN pip install --extra-index-url "${CPU_WHEELS:?name the index of CPU wheels}" torch==2.13.0+cpu

WORKDIR /source
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY heedful ./heedful
RUN pip install --constraint constraints.txt ".[hf,vectors]" && rm -r /source/*

RUN useradd --create-home --uid 10001 worker
USER worker
WORKDIR /home/worker

ENTRYPOINT ["dask", "worker", "--nthreads", "1", "--no-dashboard"]
CMD ["--help"]
