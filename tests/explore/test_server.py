"""Who may ask the server, how much, and what it says otherwise."""

from __future__ import annotations

import hashlib
import json
import random
import re
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path
from time import sleep
from xml.etree import ElementTree

import psutil
import pytest
from served import CAT, EXAMPLES, Served

from polyref.errors import OutputError
from polyref.explore import server
from polyref.explore.asking import KINDS
from polyref.explore.server import MOST_BYTES, bound_socket

STATIC = Path(server.__file__).with_name("static")


def test_the_page_has_no_inline_script_or_style_and_the_policy_forbids_them(served: Served):
    page = served.get("/")
    assert page.status == 200
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "data:" not in policy
    text = page.content.decode()
    assert re.findall(r"<script[^>]*>", text) == ['<script type="module" src="/static/main.js">']
    assert not re.search(r"<style|\sstyle=|\son\w+=|https?:", text)


@pytest.mark.parametrize("path", sorted(STATIC.iterdir()), ids=lambda path: path.name)
def test_no_part_of_the_page_asks_another_machine(path: Path):
    addresses = set(re.findall(r"https?://[^'\"\s)]+", path.read_text("utf-8")))
    assert addresses <= {"http://www.w3.org/2000/svg"}


@pytest.mark.parametrize("path", ["/static/main.js", "/static/style.css", "/static/shared.css", "/static/icon.svg"])
def test_the_parts_of_the_page_are_there_with_the_same_headers(path: str, served: Served):
    found = served.get(path)
    assert found.status == 200
    assert found.headers["x-content-type-options"] == "nosniff"
    assert found.headers["content-security-policy"] == served.get("/").headers["content-security-policy"]


@pytest.mark.parametrize(
    "path", ["/static/../server.py", "/static/%2e%2e/server.py", "/server.py", "/api/secret", "/static/"]
)
def test_other_addresses_lead_nowhere(path: str, served: Served):
    found = served.get(path)
    assert found.status == 404
    assert "error" in found.json


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example:{port}"]
)
def test_a_foreign_host_is_refused(host: str, served: Served):
    for path in ("/", "/api/about", "/static/main.js"):
        found = served.get(path, Host=host.format(port=served.port))
        assert found.status == 403
        assert "127.0.0.1" in found.json["error"]


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1:{port}", "http://127.0.0.1:1"])
def test_a_foreign_origin_is_refused(origin: str, served: Served):
    headers = {"Origin": origin.format(port=served.port)}
    assert served.post("look", {"example": "cat"}, headers).status == 403
    assert served.get("/api/about", **headers).status == 403


def test_its_own_origin_and_a_program_without_one_are_let_in(served: Served):
    assert served.post("look", {"example": "cat"}, {"Origin": served.address.rstrip("/")}).status == 200
    assert served.post("look", {"example": "cat"}, {"Host": f"localhost:{served.port}"}).status == 200


def test_what_another_site_fetches_is_refused(served: Served):
    assert served.get("/api/about", **{"Sec-Fetch-Site": "cross-site"}).status == 403
    assert served.get("/api/about", **{"Sec-Fetch-Site": "same-site"}).status == 403
    assert served.get("/", **{"Sec-Fetch-Site": "cross-site"}).status == 200  # a link to the explorer


def test_a_form_of_another_site_has_no_effect(served: Served):
    found = served.send("POST", "/api/look", b'{"example": "cat"}', {"Content-Type": "text/plain"})
    assert found.status == 415


def test_only_what_an_address_is_for_is_done(served: Served):
    assert served.get("/api/look").status == 405
    assert served.send("DELETE", "/api/about").status == 405
    assert served.send("POST", "/", b"").status == 405


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"", "JSON"),
        (b"[1]", "object"),
        (b"{", "JSON"),
        (b"\xff", "JSON"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"example": "cat", "settings": {"penalty": NaN}}', "JSON"),
        (
            b'{"example": "cat", "settings": {"penalty": 1e999}}',
            "penalty is inf; give a number from 0 to 1, or adaptive",
        ),
        (b'{"example": "cat", "settings": {"penalty": -1}}', "penalty is -1; give a number from 0 to 1, or adaptive"),
        (b'{"example": "cat", "settings": {"penalty": "0.5"}}', 'penalty is "0.5"'),
        (b'{"example": "cat", "settings": {"per_example": 0}}', "per_example is 0; give a whole number, 1 or more"),
        (b'{"example": "cat", "settings": {"per_example": 5000}}', "1,000 at most"),
        (b'{"example": "cat", "settings": {"per_example": 1' + b"0" * 30 + b"}}", "too many digits"),
        (b'{"example": "cat", "settings": {"penalti": 0.5}}', 'did you mean "penalty"?'),
        (b'{"example": "cat", "settings": {"node_budget": 9}}', "node_budget is not a known setting"),
        (b'{"example": "cat", "settings": {"encoder": "huggingface:x", "align": "soft"}}', "choose one of english"),
        (b'{"example": "cat", "settings": []}', "settings is not an object"),
        (b'{"example": "cat", "width": 1e9}', "width is"),
        (b'{"example": "cat", "width": true}', "width is true"),
        (b'{"references": "a cat"}', "references is not a list"),
        (b'{"references": []}', "references"),
        (b'{"references": ["  "]}', "reference"),
        (b'{"references": [1]}', "reference"),
        (b'{"references": ["\\ud800 a"]}', "surrogate"),
    ],
)
def test_a_wrong_question_is_answered_with_what_is_wrong(body: bytes, says: str, served: Served):
    found = served.post("look", body)
    assert found.status == 400
    assert says in found.json["error"]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"pair": [0, 9]}, "there is no reference 9"),
        ({"pair": [-1, 0]}, "there is no reference -1"),
        ({"pair": [0]}, "pair is not a pair"),
        ({"pair": [0, True]}, "pair is not a pair"),
        ({"pair": [1, 1]}, "are the same"),
    ],
)
def test_a_wrong_pair_is_refused(given, says, served: Served):
    found = served.post("matrix", {"example": "cat", **given})
    assert (found.status, says in found.json["error"]) == (400, True)


def test_an_unknown_example_is_not_found(served: Served):
    for id in ("nobody", 7, None, {"a": 1}):
        found = served.post("look", {"example": id})
        assert found.status == 404
        assert "there is no example" in found.json["error"]


def test_too_much_is_refused_with_the_limit_and_the_server_goes_on(served: Served):
    large = served.post("look", {"references": ["a" * (MOST_BYTES + 1)]})
    assert (large.status, "5,000,000 bytes" in large.json["error"]) == (413, True)
    many = served.post("look", {"references": ["a cat"] * 501})
    assert (many.status, many.json["error"]) == (400, "these are 501 references; give at most 500")
    wide = served.post("look", {"references": ["a" * 100_001]})
    assert wide.json["error"] == "these references have 100,001 characters; give at most 100,000"
    long = served.post("look", {"references": ["a " * 1001, "b " * 1000]})
    assert long.json["error"] == "these references have 2,001 words; give at most 2,000 here; expand takes more"
    assert served.post("look", {"example": "cat"}).status == 200


def test_what_is_as_much_as_allowed_is_looked_at(served: Served):
    found = served.post("look", {"references": [f"a cat number {n}" for n in range(500)]})
    assert found.status == 200
    assert found.json["map"] is None
    assert "a drawing has room for 20 references" in found.json["why_no_map"]


def test_two_hundred_requests_at_once_are_all_answered(served: Served):
    def one(n: int) -> int:
        settings = {"align": "soft", "penalty": n / 200} if n % 2 else {}
        return served.post("look", {"example": ("cat", "dogs")[n % 3 == 0], "settings": settings}).status

    with ThreadPoolExecutor(200) as pool:
        assert set(pool.map(one, range(200))) == {200}


def test_a_slow_example_is_given_up_when_the_page_moves_on(served: Served):
    def workers() -> set[int]:
        children = psutil.Process(served.process).children()
        return {one.pid for one in children if "spawn_main" in " ".join(one.cmdline())}

    served.post("look", {"example": "cat"})
    before = workers()
    blocks = [" ".join(f"w{block}x{word}" for word in range(3)) for block in range(25)]
    shuffled = [" ".join(random.Random(seed).sample(blocks, len(blocks))) for seed in range(25)]
    slow = json.dumps({"references": shuffled, "settings": {"per_example": 1000, "judge": "bleu"}}).encode()
    for _ in before:
        connection = HTTPConnection("127.0.0.1", served.port)
        connection.request("POST", "/api/look", slow, {"Content-Type": "application/json"})
        sleep(0.2)  # until it is at work
        connection.close()
    assert served.post("look", {"example": "cat"}).status == 200
    while workers() & before:
        sleep(0.05)
    assert len(workers()) == len(before)


def test_text_of_the_data_is_never_markup(served: Served):
    example = EXAMPLES[2]
    for given in ({"example": example["id"]}, {"references": example["references"]}):
        found = served.post("look", given).json
        matrix = served.post("matrix", given | {"pair": [0, 2]}).json
        for drawing in (found["map"], matrix["svg"]):
            names = {element.tag.rpartition("}")[2] for element in ElementTree.fromstring(drawing).iter()}
            assert names <= {"svg", "title", "g", "path", "rect", "text", "circle", "polyline"}
            assert not {"\u202e", "\u2066"} & set(drawing)


def test_a_drawing_for_the_page_needs_no_inline_style(served: Served):
    look, matrix = (
        served.post(kind, {"example": "cat", "settings": {"align": "soft"}}).json for kind in ("look", "matrix")
    )
    for drawing in (look["map"], matrix["svg"]):
        assert not re.search(r"<style|\sstyle=", drawing)


def test_the_file_is_not_touched(served: Served, file: Path):
    before = hashlib.sha256(file.read_bytes()).digest(), file.stat().st_mtime_ns
    for kind in ("look", "left-out", "matrix", "curve", "export"):
        served.post(kind, {"example": "cat", "form": "jsonl"})
    assert (hashlib.sha256(file.read_bytes()).digest(), file.stat().st_mtime_ns) == before
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_the_socket_is_of_this_machine_alone():
    with bound_socket(0) as listening:
        host, port = listening.getsockname()
        assert host == "127.0.0.1"
        with pytest.raises(OutputError, match=f"port {port} cannot be used .*--port"):
            bound_socket(port)


def test_about_tells_what_can_be_set(served: Served):
    about = served.get("/api/about").json
    assert (about["file"], about["examples"], about["first"]) == ("examples.jsonl", len(EXAMPLES), "cat")
    penalty = next(one for one in about["controls"] if one["name"] == "penalty")
    assert (penalty["kind"], penalty["least"], penalty["most"], penalty["default"]) == ("number", 0, 1, 0.5)
    assert penalty["choices"] == ["adaptive"]
    assert penalty["needs"] == ["align", "soft"]
    assert about["limits"] == {"bytes": MOST_BYTES, "references": 500, "words": 2000, "per_example": 1000}


def test_a_program_can_ask_as_the_documentation_says(served: Served):
    found = served.post("look", {"references": CAT, "settings": {"per_example": 8}}).json
    assert found["size"]["sentences"] == "2560"
    assert len(found["sentences"]) == 3
    assert json.loads(served.post("export", {"references": CAT, "form": "jsonl"}).content)["references"] == CAT


DOCUMENTED = re.findall(
    r"^\| `(GET|POST) (/api/[\w-]+)` \| [^|]* \| ([^|]*) \|$",
    (Path(__file__).parents[2] / "docs/explore.md").read_text("utf-8"),
    re.MULTILINE,
)


def test_the_documentation_has_every_address():
    assert {path for _, path, _ in DOCUMENTED} == {"/api/about", "/api/examples", *(f"/api/{kind}" for kind in KINDS)}


@pytest.mark.parametrize(("method", "path", "answer"), DOCUMENTED, ids=lambda value: value if "/" in value else "")
def test_an_answer_has_what_is_documented(method: str, path: str, answer: str, served: Served):
    given = {"example": "cat", "settings": {"align": "soft"}, "pair": [0, 1], "form": "svg"}
    found = served.get(path) if method == "GET" else served.post(path.removeprefix("/api/"), given)
    assert found.status == 200
    if not path.endswith("export"):
        assert set(re.findall(r"`(\w+)`", answer.partition(", each")[0].partition(":")[0])) <= set(found.json)


# -- examples of the file ---------------------------------------------------------------------------------------------


def test_examples_are_found_by_text_and_id(served: Served):
    def found(search: str) -> list[str]:
        answer = served.get(f"/api/examples?search={search}").json
        return [one["id"] for one in answer["examples"]]

    assert found("") == [example["id"] for example in EXAMPLES]
    assert found("DOGS+run") == ["dogs"]
    assert found("F%C3%9CTTERT") == ["enten"]
    assert found("photo-1") == ["cat"]
    assert found("cat+nowhere") == []


def test_an_example_knows_its_neighbours(served: Served):
    answer = served.get("/api/examples?at=dogs").json
    assert (answer["place"], answer["previous"], answer["next"]) == (1, "cat", EXAMPLES[2]["id"])
    assert served.get("/api/examples?at=cat").json["previous"] is None
    assert served.get("/api/examples?at=nobody").json["next"] == "cat"
    assert len(served.get("/api/examples?size=2&start=1").json["examples"]) == 2


def test_examples_are_sorted_by_what_their_lattices_hold(served: Served):
    answer = served.get("/api/examples?order=sentences").json
    while answer["ranked"][0] < answer["ranked"][1]:
        answer = served.get("/api/examples?order=sentences").json
    ids = [one["id"] for one in answer["examples"]]
    assert (ids[0], ids[-1]) == ("cat", "one")
    assert answer["examples"][0]["sentences"] == "2560"
    worst = [
        one["worst"] for one in served.get("/api/examples?order=worst").json["examples"] if one["worst"] is not None
    ]
    assert worst == sorted(worst)
    left_out = [one["left_out"] for one in served.get("/api/examples?order=left-out").json["examples"]]
    assert left_out == sorted(left_out, reverse=True)


@pytest.mark.parametrize("query", ["order=bad", "size=1000", "size=-1", "start=x", "start=%D9%A1", "size=99999999999"])
def test_a_wrong_list_is_refused(query: str, served: Served):
    found = served.get(f"/api/examples?{query}")
    assert found.status == 400
    assert found.json["error"].startswith(query.partition("=")[0])
