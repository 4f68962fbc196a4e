"""Papers, repeated: tables beside ours, claims tested; one name here is one choice of `heedful reproduce`."""

from heedful.studies import attefa, jain_wallace, seat, serrano_smith, sun_lu, wiegreffe_pinter
from heedful.studies.contract import SCALES, Results, Study

__all__ = ["SCALES", "STUDIES", "Results", "Study"]

STUDIES: dict[str, Study] = {
    study.name: study
    for study in (
        jain_wallace.STUDY,
        wiegreffe_pinter.STUDY,
        serrano_smith.STUDY,
        attefa.STUDY,
        seat.STUDY,
        sun_lu.STUDY,
    )
}
