"""Papers, reproduced: tables beside ours, claims tested; one name here is one choice of `heedful reproduce`."""

from heedful.papers.attefa.study import STUDY as ATTEFA
from heedful.papers.embedding_start.study import STUDY as EMBEDDING_START
from heedful.papers.jain_wallace.study import STUDY as JAIN_WALLACE
from heedful.papers.judged_models import with_outcome
from heedful.papers.mohankumar.study import STUDY as MOHANKUMAR
from heedful.papers.rationales.study import STUDY as RATIONALES
from heedful.papers.reproduction import SCALES, Results, Study
from heedful.papers.seat.study import STUDY as SEAT
from heedful.papers.serrano_smith.study import STUDY as SERRANO_SMITH
from heedful.papers.sun_lu.study import STUDY as SUN_LU
from heedful.papers.wiegreffe_pinter.study import STUDY as WIEGREFFE_PINTER

__all__ = ["SCALES", "STUDIES", "Results", "Study"]

PLANNED: dict[str, Study] = {
    "jain-wallace": JAIN_WALLACE,
    "wiegreffe-pinter": WIEGREFFE_PINTER,
    "serrano-smith": SERRANO_SMITH,
    "attefa": ATTEFA,
    "seat": SEAT,
    "sun-lu": SUN_LU,
    "rationales": RATIONALES,
    "mohankumar": MOHANKUMAR,
    "embedding-start": EMBEDDING_START,
}
STUDIES = {name: with_outcome(study) for name, study in PLANNED.items()}
