"""Claims about the attention of transformers, tested on a small encoder fine-tuned on four data sets."""

from heedful.jobs.planning import RunWithBase
from heedful.settings import DataSettings, FinetuneSettings, Run
from heedful.studies.measurements import Measurement
from heedful.studies.study import Study, StudyRun
from heedful.studies.transformers.claims import claims, remarks
from heedful.studies.transformers.columns import NAME
from heedful.studies.transformers.encoder import CALLED, ENCODER, require_encoder
from heedful.studies.transformers.figures import figures
from heedful.studies.transformers.measuring import VERSION, measure
from heedful.studies.transformers.tables import tables

SETS = ("sst2", "rotten_tomatoes", "tweeteval_hate", "ag_news")
SEEDS = {"small": 2, "medium": 3, "paper": 5}
TRAIN_LIMIT = {"small": 1_000, "medium": 2_000, "paper": None}
TEST_LIMIT = {"small": 200, "medium": 400, "paper": None}
EPOCHS = {"small": 1, "medium": 2, "paper": 3}
MEASURED = {
    "small": {"imposed": 80, "deleted": 30, "dev": 16},
    "medium": {"imposed": 200, "deleted": 80, "dev": 30},
    "paper": {"imposed": 2_000, "deleted": 500, "dev": 200},
}
"""Texts that get other attention, from which words are deleted, and dev texts on which the best head is chosen."""
MOST_PIECES = 64
FINE_TUNED = "MiniLM fine-tuned on SST, Rotten Tomatoes, TweetEval hate and AG News"


def runs(scale: str) -> list[StudyRun]:
    """The encoder, fine-tuned on every data set from several seeds."""
    return [
        StudyRun(
            data=data,
            model=CALLED,
            encoder="transformer",
            method="fine-tuned",
            run=RunWithBase(_run(data, scale, seed)),
            measurement=Measurement(NAME, VERSION, measure, MEASURED[scale]),
        )
        for data in SETS
        for seed in range(SEEDS[scale])
    ]


def _run(data: str, scale: str, seed: int) -> Run:
    source = DataSettings(source=data, train_limit=TRAIN_LIMIT[scale], test_limit=TEST_LIMIT[scale])
    settings = FinetuneSettings(model=ENCODER, epochs=EPOCHS[scale], max_tokens=MOST_PIECES)
    return Run(data=source, finetune=settings, seed=seed)


STUDY = Study(
    name="transformers",
    folder=NAME,
    title="What papers claim about transformers' attention",
    paper="Abnar and Zuidema (2020), Kobayashi et al. (2020), Pruthi et al. (2020), Liu et al. (2022) and others, on "
    "the attention of transformers",
    scales={
        "small": f"{FINE_TUNED}; 2 seeds, 1,000 training texts, 1 epoch; other attention for 80 texts, words deleted "
        "from 30",
        "medium": f"{FINE_TUNED}; 3 seeds, 2,000 training texts, 2 epochs; other attention for 200 texts, words "
        "deleted from 80",
        "paper": f"{FINE_TUNED}; 5 seeds, all training texts, 3 epochs; other attention for 2,000 texts, words deleted "
        "from 500",
    },
    runs=runs,
    tables=tables,
    claims=claims,
    figures=figures,
    remarks=remarks,
    require=require_encoder,
)
