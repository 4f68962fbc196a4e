"""Papers, repeated: tables beside ours, claims tested; one name here is one choice of `heedful reproduce`."""

from heedful.studies.attefa import study as attefa
from heedful.studies.jain_wallace import study as jain_wallace
from heedful.studies.seat import study as seat
from heedful.studies.serrano_smith import study as serrano_smith
from heedful.studies.study import SCALES, Results, Study
from heedful.studies.sun_lu import study as sun_lu
from heedful.studies.wiegreffe_pinter import study as wiegreffe_pinter

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
