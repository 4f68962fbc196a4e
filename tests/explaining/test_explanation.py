"""What the audit says about explaining predictions: its answers, and which ranking to show."""

from heedful.explaining.explanation import guidance_of, settings_of
from heedful.schema import Answer, AuditAnswer, ClassAnswer, Recommendation, Shares, Training, Verdict, updated
from heedful.settings import AuditSettings

HOW = "`heedful audit --model k`"


def class_answer(answer: Answer, label: str | None = None) -> ClassAnswer:
    return ClassAnswer(answer=answer, sentence=f"Numbers of {label or 'all'}.", shares=Shares(label=label))


def verdict_of(recommendation: Recommendation | None = None, *, good: Answer = "Yes", **changes) -> Verdict:
    answer = AuditAnswer(
        headline="The headline",
        sentence="Its numbers.",
        overall=class_answer("For some texts"),
        classes=(class_answer("No", "bad"), class_answer(good, "good")),
        recommendation=recommendation,
    )
    made = Verdict(run="r", data="d", texts=1200, labels=("bad", "good"), lines=(), answer=answer)
    return updated(made, **changes)


def advised(show, ranking="") -> Recommendation:
    return Recommendation(show=show, ranking=ranking, sentence="Do this.")


def test_the_recommendation_decides_what_is_shown():
    for recommendation, show, ranking, name in [
        (advised("attention", "attention"), "attention", "attention", "attention"),
        (advised("ranking", "gradient_x_input"), "ranking", "gradient_x_input", "gradient x input"),
        (advised("ranking", "effect"), "ranking", "effect", "single-word effect"),
        (advised("ranking", "integrated_gradients"), "ranking", "integrated_gradients", "integrated gradients"),
        (advised("key words", "effect"), "key words", "attention", "attention"),
        (advised("nothing"), "nothing", "attention", "attention"),
    ]:
        made = guidance_of(verdict_of(recommendation), HOW)
        assert (made.show, made.ranking, made.name) == (show, ranking, name)
        assert (made.headline, made.sentence, made.recommendation) == ("The headline", "Its numbers.", "Do this.")


def test_scores_from_outside_cannot_be_shown_of_a_new_text():
    made = guidance_of(verdict_of(advised("ranking", "mine")), HOW)
    assert (made.show, made.ranking) == ("key words", "attention")
    assert made.recommendation.startswith("Do this. Those scores came from outside and cannot be computed here")


def test_the_answers_are_those_of_the_predicted_classes():
    made = guidance_of(verdict_of(advised("nothing")), HOW)
    no, yes = "If the model predicts bad: No. Numbers of bad.", "If the model predicts good: Yes. Numbers of good."
    assert made.sentences(["good"])[1:] == (yes, "Do this.")
    assert made.sentences(["bad", "good", "bad"])[1:] == (no, yes, "Do this.")
    assert made.sentences(["other"])[1:] == ("All texts: For some texts. Numbers of all.", "Do this.")


def test_the_answer_for_all_texts_is_added_to_a_class_with_too_few():
    made = guidance_of(verdict_of(advised("nothing"), good="Too few texts"), HOW)
    assert made.sentences(["good"])[1:3] == (
        "If the model predicts good: Too few texts. Numbers of good.",
        "All texts: For some texts. Numbers of all.",
    )


def test_without_an_answer_attention_is_shown_and_it_says_how_to_get_one():
    for verdict, headline in [
        (None, "No audit of this model is known."),
        (verdict_of(answer=None), "The audit of this model did not judge texts, so it has no answer."),
    ]:
        made = guidance_of(verdict, HOW)
        assert (made.show, made.ranking, made.headline) == ("not audited", "attention", headline)
        assert made.sentences(["good"])[0] == headline and made.sentences(["good"])[1].endswith(f"run {HOW}.")


def test_it_says_on_how_much_the_answer_rests():
    for trainings, texts, basis in [
        (0, 1200, "Audit of 1 seed and 1,200 texts; another seed might give a different answer."),
        (1, 1, "Audit of 1 seed and 1 text; another seed might give a different answer."),
        (3, 20, "Audit of 3 seeds and 20 texts."),
    ]:
        verdict = verdict_of(trainings=(Training(run="r"),) * trainings, texts=texts)
        assert guidance_of(verdict, HOW).sentences(["good"])[0] == f"{basis} Can attention be shown as an explanation?"


def test_texts_are_judged_by_the_settings_of_the_audit():
    used = AuditSettings.model_validate({"seed": 3, "outcome": {"share": 0.2}})
    assert settings_of(verdict_of(settings={"audit": used.model_dump(mode="json")})) == used
    assert settings_of(verdict_of()) == settings_of(None) == AuditSettings()
