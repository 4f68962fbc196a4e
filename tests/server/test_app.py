"""The application: its paths, its refusals, and that it lives."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from heedful.server.served import ServedModel


def test_models_are_listed_in_order_with_their_kinds(client, model):
    listed = client.get("/api/models").json()
    assert [each["id"] for each in listed][:2] == [model("average").served.info.id, model("bilstm").served.info.id]
    first = listed[0]
    assert first["labels"] == ["bad", "good"] and first["is_linear"] and first["solver"] == "exact"
    assert [action["name"] for action in first["actions"]][0] == "other_attention"
    assert all(action["paper"] and action["title"] and action["sentence"] for action in first["actions"])
    known = {each["id"]: each for each in client.get("/api/models").json()}
    assert known[model("hierarchical").served.info.id]["is_hierarchical"]
    assert known[model("hierarchical").served.info.id]["item"] == "sentence"
    assert known[model("nli").served.info.id]["has_query"]
    assert not known[model("tanh").served.info.id]["is_linear"]
    assert known[model("tanh").served.info.id]["solver"] == "search"


def test_other_places_and_methods_are_refused(client, refused):
    for path in [
        "/docs",
        "/openapi.json",
        "/api",
        "/api/nothing",
        "/report/nothing",
        "/static/../app.py",
        "/%2e%2e/app.py",
    ]:
        response = client.get(path)
        assert response.status_code == 404 and "error" in response.json()
    assert client.get("/api/read").status_code == 405
    assert client.post("/api/models", json={}).status_code == 405


def test_requests_that_cannot_be_answered_say_why(client, model, refused):
    refused("read", {**model("average").request, "model": "nobody"}, "'nobody'", 404)
    for changes, said in [
        ({"text": ""}, "text must have a word"),
        ({"text": " \n\t"}, "text must have a word"),
        ({"query": "why"}, "query cannot be combined"),
    ]:
        refused("read", {**model("average").request, **changes}, said)
    refused("read", {**model("nli").request, "query": ""}, "query must be given")
    for content, said in [
        ({}, "model is not valid"),
        ({"text": 3}, "text is not valid"),
        ({"text": "a" * 20_001}, "20000 characters"),
        ({"more": 1}, "more is not valid"),
        ([], "the body"),
    ]:
        whole = {**model("average").request, **content} if isinstance(content, dict) and content else content
        refused("read", whole, said, 422)
    content = f'{{"model": "{model("average").served.info.id}", "text": "good \\ud800"}}'
    response = client.post("/api/read", content=content, headers={"Content-Type": "application/json"})
    assert response.status_code == 422


def test_markup_and_control_characters_are_text(client, model):
    text = "<script>alert(1)</script> \x00\x1b[31m good\u202e film"
    response = client.post("/api/read", json={**model("average").request, "text": text})
    assert response.status_code == 200 and response.json()["text"] == text
    assert response.headers["content-type"] == "application/json"


def test_a_model_that_fails_is_a_sentence(model, opened):
    case = model("average")

    def failing(text, query):
        raise RuntimeError("out of luck\nat line 3")

    browser = opened(ServedModel(case.served.info, failing), model("bilstm").served)
    response = browser.post("/api/read", json=case.request)
    assert response.status_code == 422
    assert response.json()["error"] == "the model failed on this text: RuntimeError: out of luck"
    assert browser.post("/api/read", json=model("bilstm").request).status_code == 200


def test_many_at_once_are_all_answered(client, model):
    cases = [model(name) for name in ("average", "bilstm", "three", "nli")]
    requests = [
        replace(cases[number % 4], text=f"the film was good {'so ' * (number % 7)}").request for number in range(40)
    ]
    alone = {str(request): client.post("/api/read", json=request).json() for request in requests}
    with ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(lambda request: client.post("/api/read", json=request).json(), requests))
    assert answers == [alone[str(request)] for request in requests]


def test_no_text_is_logged(client, model, caplog, capfd):
    with caplog.at_level(0):
        client.post("/api/read", json={**model("average").request, "text": "unspeakable film"})
        client.post("/api/read", json={**model("average").request, "text": 3, "query": "unspeakable"})
    mine = [
        record.getMessage() for record in caplog.records if record.name.startswith(("heedful", "uvicorn", "fastapi"))
    ]
    assert "unspeakable" not in " ".join(mine) + "".join(capfd.readouterr())


def test_a_picture_has_the_colors_and_the_prediction_of_the_weights(client, model, post):
    case = model("bilstm")
    widest = post("read", case.request)["widest"]["attention"]
    decoded = post("decode", {**case.request, "attention": widest})
    for kind, start in {"svg": b"<svg", "png": b"\x89PNG"}.items():
        response = client.post("/api/picture", json={**case.request, "attention": widest, "format": kind})
        assert response.status_code == 200 and response.content.startswith(start)
        assert response.headers["content-disposition"] == f'attachment; filename="attention.{kind}"'
    picture = client.post("/api/picture", json={**case.request, "attention": widest}).text
    assert f"{decoded['label']} ({max(decoded['probabilities']):.2f})" in picture
