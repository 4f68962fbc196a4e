"""How the files of each public set become its splits, on small files of the same form."""

import csv
import io
import json
import re
import tarfile
import zipfile
from collections import Counter
from urllib.parse import urlsplit

import pytest

from heedful.data import public_sets
from heedful.data.public_sets import (
    PUBLIC_SETS,
    READERS,
    SPORTS,
    clean_news,
    join_words,
    read_ag_news,
    read_babi,
    read_dbpedia,
    read_documents,
    read_hatexplain,
    read_imdb,
    read_movies,
    read_newsgroups,
    read_posts,
    read_sentence_polarity,
    read_small_imdb,
    read_snli,
    read_sports,
    read_sst,
    read_stories,
    read_topics,
    read_tree,
    read_tweeteval,
)
from heedful.data.sources.columns import LABELS, QUERIES, TEXTS


def sizes(splits):
    return {split: len(rows) for split, rows in splits.items()}


def counts(splits):
    return {split: Counter(row["label"] for row in rows) for split, rows in splits.items()}


def files_of(folder, **contents):
    for name, content in contents.items():
        (folder / name).write_text(content, encoding="utf-8")
    return {name: folder / name for name in contents}


def tar_of(folder, members):
    with tarfile.open(folder / "a.tgz", "w:gz") as archive:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content.encode())
            archive.addfile(member, io.BytesIO(content.encode()))
    return {"archive": folder / "a.tgz"}


def zip_of(folder, members):
    with zipfile.ZipFile(folder / "a.zip", "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return {"archive": folder / "a.zip"}


def test_every_set_says_what_it_is_where_its_files_are_and_what_they_must_be():
    for public in PUBLIC_SETS.values():
        assert len(public.title) > 3 and len(public.task) > 8 and public.terms and not public.remark.endswith(".")
        assert public.columns[0] in TEXTS and {*public.columns} & {*LABELS}
        assert {*public.columns} <= {*TEXTS, *LABELS, *QUERIES, "rationale"}
        for file in public.files.values():
            parts = urlsplit(file.address)
            assert parts.scheme == "https" and parts.path.strip("/")
            assert re.fullmatch(r"[0-9a-f]{64}|md5:[0-9a-f]{32}", file.hash)
            if "github" in parts.netloc:
                assert re.fullmatch(r"/[\w-]+/[\w-]+/[0-9a-f]{40}/.+", parts.path)
    assert {public.read for public in PUBLIC_SETS.values()} == {*READERS.values()}


def test_sst_has_no_neutral_sentences_and_each_split_is_a_file(tmp_path):
    assert read_tree("(2 (2 It) (2 is))") is None
    row = read_tree("(1 (2 -LRB-) (1 (2 a\\/b) (0 bad)) (2 -RRB-))")
    assert (row["text"], row["label"], row["fine_label"], row["token_sentiment"]) == ("( a/b bad )", 0, 1, [2, 2, 0, 2])
    assert read_tree("(3 (2 8\xa01\\/2) (3 good))")["text"] == "8 good"
    lines = {
        split: f"({label} (2 a) (2 b))\n(2 (2 c) (2 d))\n" for split, label in (("train", 4), ("dev", 0), ("test", 3))
    }
    assert counts(read_sst(files_of(tmp_path, **lines))) == {"train": {1: 1}, "dev": {0: 1}, "test": {1: 1}}


def test_each_class_of_sentence_polarity_is_cut_by_position_with_positives_first(tmp_path):
    lines = {f"set/rt-polarity.{name}": "".join(f"{name} café {n} \n" for n in range(20)) for name in ("pos", "neg")}
    splits = read_sentence_polarity(zip_of(tmp_path, lines))
    assert sizes(splits) == {"train": 32, "dev": 4, "test": 4}
    assert [row["text"] for row in splits["dev"]] == [f"{name} café {n}" for name in ("pos", "neg") for n in (16, 17)]
    assert [row["label"] for row in splits["test"]] == [1, 1, 0, 0]


def test_imdb_is_split_and_balanced_in_one_order_and_its_small_set_is_of_short_reviews(tmp_path, monkeypatch):
    monkeypatch.setattr(public_sets, "IMDB_DEV", 2)
    monkeypatch.setattr(public_sets, "IMDB_SMALL", {"train": 4, "dev": 2, "test": 6})
    files = tar_of(
        tmp_path,
        {
            f"aclImdb/{part}/{name}/{n}_{rating}.txt": f"So<br /><br />it isn't {name}, {n}." + " word" * (n == 0) * 400
            for part in ("train", "test")
            for name, rating in (("pos", 9), ("neg", 2), ("unsup", 0))
            for n in range(8)
        },
    )
    whole, small = read_imdb(files), read_small_imdb(files)
    assert counts(whole) == {"train": {0: 6, 1: 6}, "dev": {0: 2, 1: 2}, "test": {0: 8, 1: 8}}
    assert len({row["id"] for rows in whole.values() for row in rows}) == 32
    # The order of the set that the study pages were computed on, as far as these few names can show it.
    assert [row["id"] for row in whole["dev"]] == ["train/neg/2_2", "train/pos/6_9", "train/neg/1_2", "train/pos/0_9"]
    row = next(row for row in whole["test"] if row["id"] == "test/pos/3_9")
    assert row == {"text": "So it isn't pos, 3.", "label": 1, "rating": 9, "id": "test/pos/3_9", "n_words": 5}
    assert counts(small) == {"train": {0: 2, 1: 2}, "dev": {0: 1, 1: 1}, "test": {0: 3, 1: 3}}
    assert all(row in whole[split] and row["n_words"] < 400 for split, rows in small.items() for row in rows)


def test_texts_and_labels_of_tweeteval_are_joined_by_line(tmp_path):
    parts = {f"{name}_text": f"{name} one \u2028 line\n\n three \n" for name in ("train", "val", "test")}
    files = files_of(tmp_path, **parts, **dict.fromkeys(("train_labels", "val_labels", "test_labels"), "0\n1\n0\n"))
    assert read_tweeteval(files)["dev"] == [
        {"text": "val one \u2028 line", "label": 0},
        {"text": "", "label": 1},
        {"text": "three", "label": 0},
    ]
    files["test_labels"].write_text("0\n1\n", encoding="utf-8")
    with pytest.raises(ValueError, match="zip"):
        read_tweeteval(files)


def test_escapes_and_mark_up_of_news_are_cleaned():
    for raw, cleaned in (
        ("yesterday #39;s close \\$5", "yesterday's close $5"),
        ("the Schrders #39; home", "the Schrders ' home"),
        ('Co. &lt;A HREF="x"&gt;CL.N&lt;/A&gt; will', "Co. CL.N will"),
        ("a &amp; b, AT amp;T", "a & b, AT &T"),
        ("Don #146;t #151; say #8212; it", "Don't - say #8212; it"),
        ("India News  gt; here", "India News gt; here"),
    ):
        assert clean_news(raw) == cleaned


def test_news_of_the_world_and_business_are_kept_and_articles_of_the_test_set_left_out_of_train(tmp_path):
    for part, count in (("train", 80), ("test", 8)):
        with (tmp_path / part).open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows((n % 4 + 1, f"Title {n}", f"{part} story, number {n}") for n in range(count))
            if part == "train":
                csv.writer(file).writerow((1, "Title", "TEST story, number 0"))
    splits = read_ag_news({"train": tmp_path / "train", "test": tmp_path / "test"})
    assert sizes(splits) == {"train": 34, "dev": 6, "test": 4}
    assert splits["test"][1] == {"text": "test story, number 2", "title": "Title 2", "label": 1}
    assert not any("TEST" in row["text"] for row in splits["train"] + splits["dev"])


POST = "From: a@b.org\nSubject: Re: it\n\nb@c.org writes:\n> as before\n\nIn  my view {} of {}.\n\n--\nA signature\n"


def test_newsgroups_are_stripped_and_split_in_three_ways(tmp_path, monkeypatch):
    monkeypatch.setattr(public_sets, "TOPICS_DEV", 3)
    monkeypatch.setattr(public_sets, "TOPICS_TEST", 4)
    groups = PUBLIC_SETS["newsgroups_20"].labels
    files = tar_of(
        tmp_path,
        {
            f"20news-bydate-{part}/{group}/{n}": POST.format(f"{part}{n}", group) if n else "From: a@b.org\n\n"
            for part, count in (("train", 10), ("test", 5))
            for group in groups
            for n in range(count)
        },
    )
    texts = {post.text for post in read_posts(files["archive"]) if post.group == "sci.med" and post.part == "test"}
    assert texts == {"", *(f"In  my view test{n} of sci.med." for n in range(1, 5))}
    whole, sports, topics = (read(files) for read in (read_newsgroups, read_sports, read_topics))
    assert sizes(whole) == {"train": 162, "dev": 18, "test": 80}
    assert all(row["text"].startswith("In my view train") for row in (*whole["train"], *whole["dev"]))
    assert all(groups[row["label"]] == row["id"].split("/")[0] for row in whole["test"])
    assert counts(sports) == {"train": {0: 8, 1: 8}, "dev": {0: 2, 1: 2}, "test": {0: 3, 1: 3}}
    assert all(row["text"].endswith(SPORTS[row["label"]] + ".") for row in sports["train"])
    assert sizes(topics) == {"train": 32, "dev": 3, "test": 4}
    assert {row["label"] for row in topics["train"]} == {0, 1, 2}
    for splits in (whole, sports, topics):
        texts = [row["text"] for rows in splits.values() for row in rows]
        assert len(set(texts)) == len(texts)


def test_words_of_dbpedia_are_joined_as_they_were_written_and_every_class_is_split_alike(tmp_path, monkeypatch):
    for words, text in (
        ("It was built in 1861 .\tIn 1977 it burned .", "It was built in 1861. In 1977 it burned."),
        ("the ( so-called ) # 1 , for $ 5", "the (so-called) #1, for $5"),
        ("the boys ' school as 'they ' said", "the boys' school as 'they' said"),
        ("they 're and do n't", "they're and don't"),
    ):
        assert join_words(words) == text
    monkeypatch.setattr(public_sets, "DBPEDIA_DEV", 2)
    monkeypatch.setattr(public_sets, "DBPEDIA_TEST", 3)
    files = files_of(tmp_path, sample="\n".join(f'{n % 14},"Text {n} , it is"' for n in range(14 * 9)))
    splits = read_dbpedia(files)
    assert {split: {*count.values()} for split, count in counts(splits).items()} == {
        "train": {4},
        "dev": {2},
        "test": {3},
    }
    assert len({row["text"] for rows in splits.values() for row in rows}) == 14 * 9
    assert splits["train"] != sorted(splits["train"], key=lambda row: row["label"])


def test_documents_are_joined_parts_with_labels_from_0_and_a_tenth_of_them_is_held_out(tmp_path):
    train = "".join(f'"{n % 5 + 1}","Title {n}","It ""is""\\nso, {n}"\n' for n in range(40))
    members = {"x_csv/train.csv": train, "x_csv/test.csv": '"5","","Fine"\n"1","",""\n', "x_csv/readme.txt": "no"}
    splits = read_documents(tar_of(tmp_path, members))
    assert splits["test"] == [{"text": "Fine", "label": 4}]
    assert (len(splits["train"]), len(splits["dev"])) == (36, 4)
    assert {"text": 'Title 7 It "is" so, 7', "label": 2} in [*splits["train"], *splits["dev"]]


STORY = """1 Mary moved to the bathroom.
2 John went back to the hallway.
3 Where is Mary? \tbathroom\t1
4 Mary took the milk.
5 Where is the milk?\tbathroom\t4 1
1 John left.
2 Who left?\tJohn\t1
"""


def test_a_question_of_babi_has_all_statements_before_it_and_those_that_answer_it_as_spans():
    first, second, third = read_stories(STORY)
    assert first["context"] == "Mary moved to the bathroom . John went back to the hallway ."
    assert (first["question"], first["answer"], first["n_sentences"]) == ("Where is Mary", "bathroom", 2)
    assert second["context"].endswith("hallway . Mary took the milk .")
    assert third["context"] == "John left ."
    assert (second["supporting_sentences"], second["rationale"]) == ([2, 0], [[0, 6], [13, 18]])


def test_the_third_task_of_babi_is_put_together_from_two_sets(tmp_path):
    many = {"small_train": 2, "small_valid": 3, "valid": 805, "test": 4}
    files = files_of(tmp_path, **{name: "1 A left.\n2 Who left?\tA\t1\n" * count for name, count in many.items()})
    assert sizes(read_babi(files)) == {"train": 805, "dev": 5, "test": 4}
    files["train"] = files["test"]
    assert sizes(read_babi(files)) == {"train": 4, "dev": 805, "test": 4}


def test_pairs_of_snli_without_an_agreed_label_are_left_out(tmp_path):
    pairs = [
        {"sentence1": "A man.", "sentence2": f"He is {label}.", "gold_label": label}
        for label in ("entailment", "-", "neutral", "contradiction")
    ]
    lines = "\n".join(map(json.dumps, pairs))
    members = {f"snli_1.0/snli_1.0_{split}.jsonl": lines for split in ("train", "dev", "test")}
    junk = {f"__MACOSX/snli_1.0/._snli_1.0_{split}.jsonl": "junk" for split in ("train", "dev", "test")}
    rows = read_snli(zip_of(tmp_path, members | junk))["test"]
    assert [row["label"] for row in rows] == [2, 0, 1]
    assert rows[0] == {"premise": "A man.", "hypothesis": "He is entailment.", "label": 2}


def test_the_majority_decides_in_hatexplain_and_the_marks_of_all_are_united(tmp_path):
    def post(labels, rationales):
        annotators = [{"label": label} for label in labels]
        return {"annotators": annotators, "rationales": rationales, "post_tokens": ["a", "b", "c", "d", "e"]}

    posts = {
        "x": post(("hatespeech", "offensive", "normal"), [[0, 1, 1, 0, 0], [0, 0, 0, 0, 1]]),
        "y": post(("normal", "offensive", "normal"), [[1, 0, 0, 0, 0]]),
        "z": post(("normal", "normal", "normal"), []),
    }
    division = json.dumps({"train": ["y"], "val": ["z"], "test": ["x"]})
    splits = read_hatexplain(files_of(tmp_path, posts=json.dumps(posts), division=division))
    assert splits["test"] == [{"text": "a b c d e", "label": 1, "rationale": [[1, 3], [4, 5]], "id": "x"}]
    assert [(row["label"], row["rationale"]) for row in splits["train"] + splits["dev"]] == [(0, []), (0, [])]


def test_movie_reviews_have_sorted_spans_and_no_review_is_in_two_splits(tmp_path):
    def entry(name, label, *spans):
        pieces = [[{"docid": name, "start_token": start, "end_token": end}] for start, end in spans]
        return {"annotation_id": name, "classification": label, "evidences": pieces}

    parts = {
        "train": [entry("n1", "NEG", (3, 5), (0, 1)), entry("p2", "POS"), entry("n3", "NEG")],
        "val": [entry("p2", "POS", (1, 2), (1, 2))],
        "test": [entry("n3", "NEG", (4, 4), (2, 3))],
    }
    members = {f"movies/{name}.jsonl": "\n".join(map(json.dumps, some)) for name, some in parts.items()}
    members |= {f"./movies/docs/{name}": "so it is\nvery bad .\n" for name in ("n1", "p2", "n3")}
    splits = read_movies(tar_of(tmp_path, members))
    assert splits["train"] == [{"text": "so it is very bad .", "label": 0, "rationale": [[0, 1], [3, 5]], "id": "n1"}]
    assert [row["rationale"] for row in splits["dev"]] == [[[1, 2]]]
    assert [row["rationale"] for row in splits["test"]] == [[[2, 3]]]
