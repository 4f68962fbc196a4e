"""Estimates of a plan's time, from a probe that leaves nothing behind."""

from heedful.cli.command_options import make_run
from heedful.jobs import estimating
from heedful.jobs.planning import plan_audits
from heedful.settings import AuditSettings
from heedful.store.store import Store

SMALL = ["data.train_limit=60", "data.test_limit=20", "network.embed_size=8", "network.hidden_size=5"]


def test_a_plan_is_measured_once_per_model_and_short_ones_not_at_all(tmp_path, monkeypatch):
    store = Store(tmp_path / "runs", tmp_path / "audits")
    run = make_run({"data": "mock-1", "encoder": "average", "epochs": 2}, SMALL)
    plan = plan_audits([run], AuditSettings(examples=16), store, seeds=3)
    assert estimating.estimate(plan, store, quick_texts=4, workers=1) is None
    probed = []
    monkeypatch.setattr(estimating, "LITTLE", 0)
    monkeypatch.setattr(estimating._Probe, "_train", counting(estimating._Probe._train, probed))
    known = estimating.estimate(plan, store, quick_texts=4, workers=1)
    assert (known.models, known.texts, len(probed)) == (3, 16, 1)
    assert known.seconds >= known.computing > 0 and known.seconds > 2 * known.quick > 0
    assert not store.folder.exists() and not store.audits.exists()


def counting(method, calls):
    def call(*arguments):
        calls.append(arguments)
        return method(*arguments)

    return call
