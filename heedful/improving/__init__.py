"""From a finished run to one whose attention points more often: methods tried, judged on dev texts, one chosen."""

from heedful.improving.candidates import Candidate
from heedful.improving.choosing import choose
from heedful.improving.method_scores import MethodScores, score_method
from heedful.improving.search import Improvement, improve

__all__ = ["Candidate", "Improvement", "MethodScores", "choose", "improve", "score_method"]
