"""Training methods; each name here is a choice of `--method`."""

from heedful.training.methods import (
    adversarial_model,
    alignment,
    attention_at,
    consistency,
    deceptive,
    diversity,
    ensemble,
    faithful,
    guided_by_evidence,
    guided_by_rationales,
    seat,
    vanilla,
    word_at,
)
from heedful.training.methods.method import Method, Teachers, bind_logs, bind_loss, bind_teachers, stopping

__all__ = ["METHODS", "Method", "Teachers", "bind_logs", "bind_loss", "bind_teachers", "stopping"]

METHODS: dict[str, Method] = {
    "vanilla": vanilla.METHOD,
    "adversary": adversarial_model.METHOD,
    "adversary_kl": adversarial_model.METHOD_KL,
    "alignment": alignment.METHOD,
    "word_at": word_at.METHOD,
    "word_iat": word_at.METHOD_IAT,
    "attention_rp": attention_at.METHOD_RP,
    "attention_at": attention_at.METHOD,
    "attention_at_weights": attention_at.METHOD_WEIGHTS,
    "attention_iat": attention_at.METHOD_IAT,
    "attention_iat_weights": attention_at.METHOD_IAT_WEIGHTS,
    "diversity": diversity.METHOD,
    "guided_by_evidence": guided_by_evidence.METHOD,
    "consistency": consistency.METHOD,
    "ensemble": ensemble.METHOD,
    "deceptive": deceptive.METHOD,
    "faithful": faithful.METHOD,
    "guided_by_rationales": guided_by_rationales.METHOD,
    "seat": seat.METHOD,
    "seat_fresh": seat.METHOD_FRESH,
    "seat_all": seat.METHOD_ALL,
    "seat_code": seat.METHOD_CODE,
}
