"""Is attention needed at all, if the model may learn to do without?"""

from collections.abc import Sequence

from heedful.battery.question import BatteryTest, Question
from heedful.battery.uniform import accuracy_change_text, accuracy_lost
from heedful.types import Findings, Trace


def uniform_retrained(trace: Trace, others: Sequence[Trace]) -> Findings:
    """Whether the same model trained with uniform attention is right, text by text: `correct`.

    Wiegreffe and Pinter (2019, section 3.2).
    """
    (retrained,) = others
    return Findings({"correct": (retrained.logits.argmax(-1) == trace.batch.labels).double()})


TEST = BatteryTest(
    uniform_retrained,
    (
        Question(
            name="uniform_retrained",
            topic="uniform weights, retrained",
            group="exclusivity",
            wording=lambda item: "Is attention needed at all? (retrained)",
            measured=accuracy_lost("uniform_retrained.correct"),
            unit="share",
            sentence=lambda answer: (
                f"Trained again with the same weight on every {answer.item}, the model "
                f"{accuracy_change_text(answer.value)} of accuracy; always predicting the most common class "
                f"{accuracy_change_text(answer.best)}."
            ),
        ),
    ),
)
