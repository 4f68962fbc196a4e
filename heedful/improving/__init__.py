"""From a finished run to one whose attention tells more of the truth: settings tried, judged on dev, one chosen."""

from heedful.improving.candidates import Candidate
from heedful.improving.choosing import choose
from heedful.improving.method_scores import Point, point_of
from heedful.improving.search import Improvement, improve

__all__ = ["Candidate", "Improvement", "Point", "choose", "improve", "point_of"]
