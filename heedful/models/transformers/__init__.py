"""Hugging Face sequence classifiers as models of Heedful: words are items, heads carry the weights.

classifier = load_classifier("./my-bert")
model = TransformerModel(classifier, site="last", scope="row")
matched = match_labels(classifier.labels, dataset.labels)
texts = read_texts(classifier, [example.text for example in dataset.test], classes)
"""

from heedful.models.transformers.classifier import Classifier, examined
from heedful.models.transformers.labels import MatchedLabels, match_labels
from heedful.models.transformers.loading import PREFIX, load_classifier
from heedful.models.transformers.model import EncodedTexts, TransformerModel
from heedful.models.transformers.sites import SCOPES, Scope, Site, parse_scope, parse_site
from heedful.models.transformers.texts import ReadTexts, read_texts

__all__ = [
    "PREFIX",
    "SCOPES",
    "Classifier",
    "EncodedTexts",
    "MatchedLabels",
    "ReadTexts",
    "Scope",
    "Site",
    "TransformerModel",
    "examined",
    "load_classifier",
    "match_labels",
    "parse_scope",
    "parse_site",
    "read_texts",
]
