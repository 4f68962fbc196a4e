"""Hugging Face sequence classifiers as models of Heedful: words are items, heads carry the weights.

classifier = load_classifier("./my-bert")
model = TransformerModel(classifier, site="last", scope="row")
matched = match_labels(classifier.labels, dataset.labels)
texts = read_texts(classifier, [example.text for example in dataset.test], classes)
"""

from heedful.models.hugging_face.attention_view import EncodedTexts, TransformerModel
from heedful.models.hugging_face.classifier import Classifier, load_inspected
from heedful.models.hugging_face.pretrained_modules import PREFIX, load_classifier
from heedful.models.hugging_face.sites import SCOPES, Scope, Site, parse_scope, parse_site
from heedful.models.hugging_face.tokenized_texts import MatchedLabels, ReadTexts, match_labels, read_texts

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
    "load_inspected",
    "load_classifier",
    "match_labels",
    "parse_scope",
    "parse_site",
    "read_texts",
]
