"""Small models behind the real server of the live page, in a thread of this process."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from heedful.cli.serve import listen
from heedful.report.loading import audit
from heedful.server.app import create_app
from heedful.server.connections import server_of
from heedful.server.contract import ExampleText, ModelInfo
from heedful.server.served import ServedModel, serve_subject
from heedful.server.text_state import state_of
from heedful.settings import Run
from heedful.subjects.finished_run import FinishedRun
from heedful.training.loop import train
from heedful.types import Example
from support.audits import QUICK
from support.runs import changed, toy

TOKEN = "a-token-for-tests"
TEXT = "the film was so good , so the film was not so bad ."
SENTENCES = "the film was so good . so bad was the film ! was it good ?"
CLASSES = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta")
NAMES = ("average", "bilstm", "classes", "sentences", "curved")
"""The served models: audited, another encoder, seven classes, hierarchical, and one whose head is not linear."""


@dataclass(frozen=True)
class Live:
    """A running server: its address, and the models that it serves by name."""

    address: str
    models: dict[str, ServedModel]

    def id_of(self, name: str) -> str:
        return self.models[name].info.id

    def read(self, name: str, text: str) -> dict:
        """What the server's own functions say of a text."""
        model = self.models[name]
        with model.reading(text) as read:
            return state_of(read, model.info.id, model.settings).model_dump(mode="json")


def small(**changes) -> Run:
    """A run whose data cannot be generated again, so that no time is spent on examples of it."""
    return changed(**{"data__source": "toy.csv", "training__epochs": 1, **changes})


def marked(examples: Sequence[Example]) -> tuple[Example, ...]:
    """The texts of `toy`, in which a person marked the word that decides."""
    return tuple(replace(each, rationale=(each.tokens.index(("bad", "good")[each.label]),)) for each in examples)


def live_models(folder) -> dict[str, ServedModel]:
    """Models that are trained in a moment; the first has an audit."""
    first = train(small(training__epochs=10), toy())
    audit(first, replace(toy(), test=marked(toy().train)), QUICK).save(folder / "average")
    runs = {
        "bilstm": (small(network__encoder="bilstm"), toy()),
        "classes": (small(), toy(labels=CLASSES)),
        "sentences": (small(network__encoder="hierarchical"), toy(sentences=True)),
        "curved": (small(network__head="tanh"), toy()),
    }
    served = {"average": serve_subject(FinishedRun(first), folder)}
    served |= {name: serve_subject(FinishedRun(train(run, data))) for name, (run, data) in runs.items()}
    for name, model in served.items():
        text = SENTENCES if name == "sentences" else TEXT
        texts = [ExampleText(text=text, label="good"), ExampleText(text="so bad was the film", label="bad")]
        examples = [*texts, *model.info.examples]
        model.info = ModelInfo.model_validate({**dict(model.info), "name": name, "examples": examples})
    return served


@contextmanager
def serving(models: Sequence[ServedModel], token: str = TOKEN) -> Iterator[str]:
    """The address at which the models are served until the block ends."""
    with listen(0) as listening:
        port = listening.getsockname()[1]
        server = server_of(create_app(models, token, port), "error")
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            server.should_exit = True
            thread.join(timeout=10)


class LivePage:
    """The page in a browser, and what tests do on it."""

    def __init__(self, page, live: Live):
        self.page, self.live = page, live

    def open(self, fragment: str = "") -> "LivePage":
        self.page.goto(f"{self.live.address}/?token={TOKEN}{fragment}")
        return self.read()

    def read(self) -> "LivePage":
        """Waits until the whole page is about the text that it shows."""
        self.page.locator("#beside[aria-busy=false]").wait_for()
        return self

    def write(self, text: str) -> "LivePage":
        self.page.locator("#text").fill(text)
        return self.read()

    def choose(self, name: str) -> "LivePage":
        """Another model, with its first example."""
        self.page.locator("#model").select_option(self.live.id_of(name))
        self.read()
        text = self.live.models[name].info.examples[0].text
        return self.write(text) if self.page.locator("#text").input_value() != text else self

    def fader(self, item: int):
        return self.page.locator(f'#items .item[data-item="{item}"] .fader')

    @property
    def weights(self) -> list[float]:
        """What the sliders say, to three decimals."""
        values = "all => all.map(each => Number(each.getAttribute('aria-valuenow')))"
        return self.page.locator("#items .item .fader").evaluate_all(values)

    def numbers(self, column: str = "probability") -> list[float]:
        """The logits or probabilities in the page's table, to seven decimals."""
        texts = self.page.locator(f"#prediction .numbers-table .{column}").all_text_contents()
        return [float(text) for text in texts]

    def press(self, action: str) -> str:
        """Presses a button of the papers; its answer."""
        with self.page.expect_response("**/api/act"):
            self.page.locator(f'[data-action="{action}"]').click()
        self.page.locator(f'[data-action="{action}"][aria-pressed=true]').wait_for()
        return self.page.locator("#result .found").inner_text()
