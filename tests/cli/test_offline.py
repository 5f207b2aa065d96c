"""Every verb works without a network, and asks for none: not even workers, or what fails in silence."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("tokenizers")
pytest.importorskip("matplotlib")
pytest.importorskip("onnxruntime")

import made_up
from made_records import write_records
from PIL import Image
from samples import caption_lines
from tiny_onnx import tiny_model

from polyref.cli.encoder import VERBS as ENCODER
from polyref.cli.main import VERBS
from polyref.cli.subwords import VERBS as SUBWORDS
from polyref.experiment.reading import read_recipe, toml_of

# Python runs it before anything else, in workers too. What is tried is noted: somebody may catch the error.
BLOCKED = """
import os, socket, sys
def refuse(event, arguments):
    is_outside = event == "socket.__new__" and arguments[1] in (socket.AF_INET, socket.AF_INET6)
    if is_outside or event in ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"):
        with open(os.environ["TRIED"], "a") as notes:
            notes.write(f"{event} {arguments[1:]} in {sys.argv}\\n")
        raise OSError("there is no network")
sys.addaudithook(refuse)
"""
DRIVER = """
import json, sys
from polyref.cli import main
codes = {}
if __name__ == "__main__":  # workers import this file too
    for arguments in json.loads(sys.argv[1]):
        sys.argv = ["polyref", *arguments]
        try:
            main()
            code = 0
        except SystemExit as ended:
            code = ended.code or 0
        codes[" ".join(arguments)] = code
    with open("codes.json", "w") as file:
        json.dump(codes, file)
"""
SMALL = "--state-size 8 --vector-size 8 --epochs 1"
# The explorer serves on the loopback, which is blocked here too: tests/explore see that its page asks nobody else.
COMMANDS = f"""
    --version
    --help
    expand data.jsonl -o expanded.jsonl
    expand data.jsonl -o soft.jsonl --align soft --engine plain
    expand data.jsonl -o shards/ --workers 2 --engine compiled
    stream data.jsonl --schedule uniform -o stream.tsv
    lattice data.jsonl -o lattices.html
    align data.jsonl -o align-{{id}}.svg
    convert data.jsonl data.parquet
    stats data.jsonl
    score data.src data.jsonl
    train recipe.toml
    generate model data.src -o said.txt
    experiment grid.toml --dry-run
    report records -o report
    features images --model model.onnx -o features.npz
    demo -o demo.html
    compile
    explore --help
    encoder list
    encoder train many.jsonl -o encoder {SMALL}
    encoder show encoder
    encoder calibrate encoder many.jsonl
    subwords learn data.src -o subwords.json --size 300
    subwords apply subwords.json data.src -o cut.txt
    subwords restore subwords.json cut.txt -o whole.txt
"""


def make_files() -> None:
    Path("data.jsonl").write_text(caption_lines(24))
    Path("many.jsonl").write_text(caption_lines(100))
    Path("data.src").write_text("a cat on a mat\n" * 24)
    [stage] = read_recipe(made_up.recipe(Path("model").absolute(), made_up.translation(Path.cwd(), 16))).stages
    Path("recipe.toml").write_text(toml_of(stage))
    Path("grid.toml").write_text("recipe='recipe.toml'\noutput='out'\n[axis.method]\nfirst={schedule.name='first'}\n")
    write_records(Path("records"))
    Path("images").mkdir()
    Image.new("RGB", (20, 10), (255, 0, 0)).save("images/red.png")
    tiny_model(Path("model.onnx"), ["images", 3, 8, 8])


@pytest.mark.compiled
def test_no_verb_needs_a_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    make_files()
    Path("blocked").mkdir()
    Path("blocked", "sitecustomize.py").write_text(BLOCKED)
    Path("driver.py").write_text(DRIVER)
    commands = [line.split() for line in COMMANDS.strip().splitlines()]
    verbs = {*VERBS, *(f"encoder {name}" for name in ENCODER), *(f"subwords {name}" for name in SUBWORDS)}
    assert verbs <= {" ".join(line[: 2 if line[0] in ("encoder", "subwords") else 1]) for line in commands}
    paths = os.pathsep.join(["blocked", *filter(None, sys.path)])
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / paths), "TRIED": str(tmp_path / "tried")}
    ran = subprocess.run(
        [sys.executable, "driver.py", json.dumps(commands)], env=environment, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    assert {command: code for command, code in json.loads(Path("codes.json").read_text()).items() if code} == {}, (
        ran.stderr
    )
    assert not Path("tried").exists(), Path("tried").read_text()


def test_the_network_is_really_blocked(tmp_path: Path):
    (tmp_path / "sitecustomize.py").write_text(BLOCKED)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "TRIED": str(tmp_path / "tried")}
    code = "import urllib.request; urllib.request.urlopen('http://127.0.0.1:9/')"
    ran = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert "there is no network" in ran.stderr
    assert "socket." in (tmp_path / "tried").read_text()
