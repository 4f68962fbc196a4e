"""Hugging Face sequence classifiers as models of Heedful: words are items, heads carry the weights.

classifier = load_classifier("./my-bert")
model = TransformerModel(classifier, site="last", scope="row")
matched = match_labels(classifier.labels, dataset.labels)
texts = read_texts(classifier, [example.text for example in dataset.test], classes)
"""
