"""Papers, reproduced: tables beside ours, claims tested; one name here is one choice of `heedful reproduce`."""

from heedful.studies.attefa.study import STUDY as ATTEFA
from heedful.studies.heedable.study import STUDY as HEEDABLE
from heedful.studies.jain_wallace.study import STUDY as JAIN_WALLACE
from heedful.studies.rationales.study import STUDY as RATIONALES
from heedful.studies.seat.study import STUDY as SEAT
from heedful.studies.serrano_smith.study import STUDY as SERRANO_SMITH
from heedful.studies.study import SCALES, Results, Study
from heedful.studies.sun_lu.study import STUDY as SUN_LU
from heedful.studies.transformers.study import STUDY as TRANSFORMERS
from heedful.studies.wiegreffe_pinter.study import STUDY as WIEGREFFE_PINTER

__all__ = ["SCALES", "STUDIES", "Results", "Study"]

STUDIES: dict[str, Study] = {
    "jain-wallace": JAIN_WALLACE,
    "wiegreffe-pinter": WIEGREFFE_PINTER,
    "serrano-smith": SERRANO_SMITH,
    "attefa": ATTEFA,
    "seat": SEAT,
    "sun-lu": SUN_LU,
    "transformers": TRANSFORMERS,
    "rationales": RATIONALES,
    "heedable": HEEDABLE,
}
