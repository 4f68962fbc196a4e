"""The recommended recipe: diverse states, and attention guided by what an ensemble finds when it deletes each word."""

from jaxtyping import Float
from torch import Tensor

from heedful.measures import conicity
from heedful.settings import NonNegative, Seed
from heedful.training.methods.ensemble import attention_gap, ensemble_logs, prediction_gap
from heedful.training.methods.guided_by_evidence import Target, evidence_gap
from heedful.training.methods.method import Method, Step, TeacherCount, Teachers, require_reference
from heedful.training.methods.vanilla import vanilla
from heedful.types import Reference, Trace


def faithful(
    step: Step,
    *,
    diversity: NonNegative = 0.5,
    evidence: NonNegative = 1.0,
    target: Target = "leave_one_out",
    attention: NonNegative = 0.0,
    prediction: NonNegative = 1.0,
    teachers: TeacherCount = 3,
    teacher_seed: Seed | None = None,
) -> Float[Tensor, " batch"]:
    """-ln p(label), plus diversity, evidence and an ensemble's attention and prediction, each times its weight.

    + diversity x conicity (method 'diversity') + evidence x JSD(attention, evidence) ('guided_by_evidence')
    + attention x KL(teachers' || attention) + prediction x KL(teachers' p || p) ('ensemble'). Diversity makes it matter
    which word is attended to, evidence is how far the teachers' predictions move, in the mean, without each word, and
    the ensemble makes both repeatable. Teachers have diversity alone, or with item logits as the evidence both, and
    other seeds. A weight of 0 leaves a term out, with its cost; where nothing is learnt from teachers, there are none.

    Args:
        diversity, evidence, attention, prediction: weights of the terms.
        target: what counts as evidence; "leave_one_out" is that of the teachers.
        teachers, teacher_seed: as in method 'ensemble'.
    """
    trace, reference = step.trace, step.reference
    loss = vanilla(step)
    if diversity:
        loss = loss + diversity * conicity(trace.encoded.hidden, trace.encoded.items)
    if evidence:
        loss = loss + evidence * evidence_gap(step, target=target)
    if attention:
        loss = loss + attention * attention_gap(trace, require_reference(reference))
    if prediction:
        loss = loss + prediction * prediction_gap(trace, require_reference(reference))
    return loss


def diverse_teachers(
    *,
    diversity: NonNegative = 0.5,
    evidence: NonNegative = 1.0,
    target: Target = "leave_one_out",
    attention: NonNegative = 0.0,
    prediction: NonNegative = 1.0,
    teachers: TeacherCount = 3,
    teacher_seed: Seed | None = None,
) -> Teachers:
    """The same without teachers of their own, from other seeds; none where nothing is learnt from them."""
    by_deletion = evidence > 0 and target == "leave_one_out"
    if not (attention or prediction or by_deletion):
        return Teachers()
    own = {"diversity": diversity, "evidence": 0.0, "attention": 0.0, "prediction": 0.0}
    if evidence and not by_deletion:
        own |= {"evidence": evidence, "target": target}
    return Teachers(teachers, "faithful", own, first_seed=teacher_seed, leave_one_out=by_deletion)


def faithful_logs(trace: Trace, reference: Reference | None) -> dict[str, Float[Tensor, " batch"]]:
    """The `conicity` of each text and, if there are teachers, how far it is from them (see `ensemble_logs`)."""
    taught = {} if reference is None else ensemble_logs(trace, reference)
    return {"conicity": conicity(trace.encoded.hidden, trace.encoded.items), **taught}


METHOD = Method(faithful, logs=faithful_logs, teachers=diverse_teachers)
