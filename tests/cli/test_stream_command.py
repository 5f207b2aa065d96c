"""`polyref stream`: the pairs of an epoch, or one line that says why not."""

import gzip
import json
import os
import signal
import time
from dataclasses import replace
from pathlib import Path

import pytest
from samples import caption_lines

from polyref.data import read, sample_examples
from polyref.data import write as write_examples
from polyref.data.formats import FORMATS
from polyref.feed import stream

LONGEST_WAIT = 60.0  # seconds; only a run that hangs comes near it
RECORDS = [
    {
        "id": "a",
        "source": "eins",
        "references": ["one", "the one"],
        "pseudo_references": [{"text": "a one", "bleu": 9}],
    },
    {"id": "b", "source": "zwei", "references": ["two"]},
    {"id": "c", "source": "drei", "references": ["three", "3"], "pseudo_references": [{"text": "III", "bleu": 55.5}]},
]
ALL = [("eins", "one"), ("eins", "the one"), ("eins", "a one"), ("zwei", "two")]
ALL += [("drei", "three"), ("drei", "3"), ("drei", "III")]


@pytest.fixture
def file(indexes, tmp_path: Path) -> Path:
    return write(tmp_path / "data.jsonl", RECORDS)


def write(path: Path, records: list[dict]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def table(content: bytes) -> list[tuple[str, ...]]:
    return [tuple(line.split("\t")) for line in content.decode().splitlines()]


def assert_refused(done, says: str) -> None:
    assert done.code == 2, done.err
    assert done.out == b""
    assert done.err.startswith("polyref: ")
    assert done.err.count("\n") == 1
    assert says in done.err


# -- the schedules --------------------------------------------------------------------------------------------------


def test_an_epoch_of_shuffle_is_all_pairs_in_a_new_order(run, file):
    done = run("stream", file)
    assert (done.code, done.err) == (0, "")
    assert sorted(table(done.out)) == sorted(ALL)
    assert run("stream", file).out == done.out
    assert run("stream", file, "--schedule", "shuffle", "--epoch", 0, "--seed", 0).out == done.out
    others = [run("stream", file, "--epoch", epoch).out for epoch in range(1, 4)]
    assert len({done.out, *others}) > 2


def test_the_other_schedules(run, file):
    assert table(run("stream", file, "--schedule", "uniform").out) == ALL
    assert table(run("stream", file, "--schedule", "first").out) == [ALL[0], ALL[3], ALL[4]]
    for name in ("sample-one", "sample_one"):
        found = table(run("stream", file, "--schedule", name).out)
        assert [source for source, _ in found] == ["eins", "zwei", "drei"]
        assert set(found) <= set(ALL)
    shuffled = [
        table(run("stream", file, "--schedule", "uniform", "--order", "shuffled", "--epoch", n).out) for n in range(9)
    ]
    assert all(sorted(one) == sorted(ALL) for one in shuffled)
    assert len(set(map(tuple, shuffled))) > 1


def test_which_references_take_part(run, file):
    gold = [pair for pair in ALL if pair[1] not in ("a one", "III")]
    for options in (["--gold-only"], ["--limit", 1], ["--limit", 2]):
        assert table(run("stream", file, "--schedule", "uniform", *options).out) == gold
    assert table(run("stream", file, "--schedule", "uniform", "--limit", 3).out) == ALL
    drawn = table(run("stream", file, "--schedule", "sample-one", "--gold-share", 0).out)
    assert drawn == [("eins", "a one"), ("zwei", "two"), ("drei", "III")]
    drawn = table(run("stream", file, "--gold-share", 1).out)
    assert len(drawn) == 7
    assert set(drawn) <= set(gold)
    assert {source for source, _ in table(run("stream", file, "--draw").out)} == {"eins", "zwei", "drei"}


def test_pseudo_references_are_drawn_by_their_bleu(run, file: Path):
    options = ["--schedule", "sample-one", "--epochs", 200, "--weights", "bleu", "--weight-power", 3]
    drawn = table(run("stream", file, *options).out)
    assert len(drawn) == 600
    assert ("eins", "a one") not in drawn  # it weighs 0.0007
    assert 0 < drawn.count(("drei", "III")) < 35  # 16 are expected; without weights, 67


def test_the_command_gives_the_pairs_that_the_library_gives(run, file):
    for seed, epoch in ((1, 0), (-5, 3)):
        expected = [(pair.source, pair.reference) for pair in stream(file, seed=seed).epoch(epoch)]
        assert table(run("stream", file, "--seed", seed, "--epoch", epoch).out) == expected


def test_several_epochs_come_one_behind_another(run, file):
    one_by_one = b"".join(run("stream", file, "--epoch", epoch).out for epoch in range(3))
    assert run("stream", file, "--epochs", 3).out == one_by_one
    assert run("stream", file, "--epoch", 1, "--epochs", 2).out == b"".join(one_by_one.splitlines(True)[7:])
    assert run("stream", file, "--epochs", 3, "--start", 5).out == b"".join(one_by_one.splitlines(True)[5:])


def test_a_run_goes_on_anywhere(run, file):
    whole = run("stream", file).out.splitlines(True)
    for start in range(len(whole)):
        assert run("stream", file, "--start", start).out == b"".join(whole[start:])


@pytest.mark.parametrize("name", ["uniform", "shuffle"])
def test_ranks_share_an_epoch_out(name, run, file):
    shares = [table(run("stream", file, "--schedule", name, "--rank", rank, "--ranks", 9).out) for rank in range(9)]
    assert sorted(pair for share in shares for pair in share) == sorted(ALL)


# -- where they go --------------------------------------------------------------------------------------------------


def test_json_lines_say_which_pairs_are_gold(run, file):
    found = list(map(json.loads, run("stream", file, "--schedule", "uniform", "--format", "jsonl").out.splitlines()))
    assert found[0] == {"id": "a", "source": "eins", "reference": "one", "gold": True}
    assert found[6] == {"id": "c", "source": "drei", "reference": "III", "gold": False, "bleu": 55.5}
    assert len(found) == 7


def test_prompts_and_completions(run, file, tmp_path: Path):
    done = run("stream", file, "--schedule", "first", "--format", "prompt-completion")
    assert json.loads(done.out.splitlines()[0]) == {"prompt": "eins", "completion": " one"}
    chat = write(tmp_path / "chat.jsonl", [{"source": [{"role": "user", "content": "hi"}], "references": ["hello"]}])
    done = run("stream", chat, "--format", "prompt-completion")
    assert json.loads(done.out)["completion"] == [{"role": "assistant", "content": "hello"}]
    assert_refused(
        run(
            "stream", write(tmp_path / "n.jsonl", [{"source": 1, "references": ["r"]}]), "--format", "prompt-completion"
        ),
        'the source of "1" is not a prompt',
    )


@pytest.mark.parametrize("name", ["out.tsv", "out.tsv.gz"])
def test_a_file_is_written(name, run, file, tmp_path: Path):
    done = run("stream", file, "-o", tmp_path / name, "--quiet")
    assert (done.code, done.out, done.err) == (0, b"", "")
    content = (tmp_path / name).read_bytes()
    content = gzip.decompress(content) if name.endswith(".gz") else content
    assert content == run("stream", file).out


def test_each_epoch_can_have_its_own_file(run, file, tmp_path: Path):
    run("stream", file, "--epochs", 3, "-o", tmp_path / "epoch-{epoch}.tsv")
    assert names(tmp_path) == ["data.jsonl", "epoch-0.tsv", "epoch-1.tsv", "epoch-2.tsv"]
    for epoch in range(3):
        assert (tmp_path / f"epoch-{epoch}.tsv").read_bytes() == run("stream", file, "--epoch", epoch).out
    rest = (tmp_path / "epoch-1.tsv").read_bytes().splitlines(True)[5:]
    run("stream", file, "--epoch", 1, "--epochs", 2, "--start", 5, "-o", tmp_path / "rest-{epoch}.tsv")
    assert (tmp_path / "rest-1.tsv").read_bytes() == b"".join(rest)
    assert (tmp_path / "rest-2.tsv").read_bytes() == (tmp_path / "epoch-2.tsv").read_bytes()


@pytest.mark.parametrize(
    ("output", "options", "expected"),
    [
        ("out", [], ["out.src", "out.trg"]),
        ("out", ["--languages", "de,en"], ["out.de", "out.en"]),
        ("out.gz", ["--languages", ".de, .en"], ["out.de.gz", "out.en.gz"]),
        ("out.{epoch}", ["--epoch", "2"], ["out.2.src", "out.2.trg"]),
    ],
)
def test_parallel_text_is_two_files(output, options, expected, run, file, tmp_path: Path):
    done = run("stream", file, "--format", "parallel", "-o", tmp_path / output, "--schedule", "uniform", *options)
    assert (done.code, done.err) == (0, "")
    assert names(tmp_path) == sorted(["data.jsonl", *expected])
    columns = [(tmp_path / name).read_bytes() for name in expected]
    columns = [
        gzip.decompress(one) if name.endswith(".gz") else one for one, name in zip(columns, expected, strict=True)
    ]
    assert list(zip(*[column.decode().splitlines() for column in columns], strict=True)) == ALL


@pytest.mark.parametrize("format", ["coco", "karpathy"])
def test_files_of_examples_hold_the_references_of_an_epoch(format, run, tmp_path: Path, indexes):
    records = [{"id": n, "source": n, "references": [f"one {n}", f"two {n}", f"three {n}"]} for n in range(1, 9)]
    path = write(tmp_path / "data.jsonl", records)
    options = ["--format", format, "-o", tmp_path / "out-{epoch}.json", "--epochs", 2]
    done = run("stream", path, "--schedule", "sample-one", *options)
    assert done.code == 0, done.err
    epochs = [[example.references for example in read(tmp_path / f"out-{epoch}.json")] for epoch in range(2)]
    assert all(len(references) == 1 for epoch in epochs for references in epoch)
    assert epochs[0] != epochs[1]
    run("stream", path, *options)
    assert [len(example.references) for example in read(tmp_path / "out-1.json")] == [3] * 8


def test_standard_input_is_read(run, file, indexes):
    done = run("stream", "-", stdin=file.read_bytes())
    assert done.out == run("stream", file).out
    assert len(names(indexes)) == 1  # that of the file


def test_parallel_text_field_names_and_formats_are_read(run, tmp_path: Path, indexes):
    for name, text in (("src", "eins\n"), ("ref0", "one\n"), ("ref1", "1\n")):
        (tmp_path / f"data.{name}").write_text(text)
    expected = [("eins", "one"), ("eins", "1")]
    assert table(run("stream", tmp_path / "data", "--schedule", "uniform").out) == expected
    files = [tmp_path / f"data.{name}" for name in ("src", "ref0", "ref1")]
    assert table(run("stream", *files, "--schedule", "uniform").out) == expected
    (tmp_path / "in.csv").write_text("prompt,answer\ns,r\n")
    fields = ["--source-field", "prompt", "--references-field", "answer"]
    assert run("stream", tmp_path / "in.csv", "--from", "csv", *fields).out == b"s\tr\n"


def test_texts_with_tabs_and_line_breaks(run, tmp_path: Path, indexes):
    records = [{"source": "s", "references": ["r"]}, {"source": "a\tb", "references": ["c\r\nd", " e "]}]
    path = write(tmp_path / "data.jsonl", records)
    assert_refused(run("stream", path), f"{path}:2: a text has a line break, which TSV cannot hold; choose")
    parallel = ["--format", "parallel", "-o", tmp_path / "out"]
    assert_refused(run("stream", path, *parallel), "which parallel text cannot hold")
    assert names(tmp_path) == ["data.jsonl"]
    done = run("stream", path, "--schedule", "uniform", "--line-breaks", "space")
    assert done.out == b"s\tr\na b\tc d\na b\t e \n"
    assert run("stream", path, *parallel, "--schedule", "uniform", "--line-breaks", "space").code == 0
    assert (tmp_path / "out.src").read_bytes() == b"s\na\tb\na\tb\n"
    assert run("stream", path, "--format", "jsonl").out.count(b"\n") == 3


def test_sources_that_are_no_texts_are_json(run, tmp_path: Path, indexes):
    records = [{"source": {"a": "ü\n\t"}, "references": ["r"]}, {"source": None, "references": ["r"]}]
    path = write(tmp_path / "data.jsonl", records)
    done = run("stream", path, "--schedule", "first")
    assert done.out.decode() == '{"a": "ü\\n\\t"}\tr\nnull\tr\n'
    lines = run("stream", path, "--format", "jsonl", "--schedule", "first").out.splitlines()
    assert [json.loads(line)["source"] for line in lines] == [{"a": "ü\n\t"}, None]


def test_the_name_of_the_output_tells_its_format(run, file, tmp_path: Path):
    for name in ("pairs.jsonl", "pairs.tsv", "pairs"):
        assert run("stream", file, "-o", tmp_path / name).code == 0
    assert json.loads((tmp_path / "pairs.jsonl").read_text().splitlines()[0])["id"] in "abc"
    assert (tmp_path / "pairs.tsv").read_text() == (tmp_path / "pairs").read_text()


# -- counting -------------------------------------------------------------------------------------------------------


def test_pairs_and_updates_are_counted(run, file):
    done = run("stream", file, "--count", "--batch-pairs", 3, "--epochs", 2)
    lines = done.out.decode().splitlines()
    assert " ".join(lines[0].split()) == "pairs updates as many updates as 2 epochs of shuffle"
    assert [line.split()[:3] for line in lines[1:5]] == [
        ["first", "3", "1"],
        ["sample-one", "3", "1"],
        ["uniform", "7", "3"],
        ["shuffle", "7", "3"],
    ]
    assert lines[1].endswith("6.00 epochs")
    assert lines[5] == "one epoch each; batches of 3 pairs, which uniform cuts between examples"


def test_a_machine_gets_one_object(run, file):
    found = json.loads(run("stream", file, "--count", "--json", "--batch-tokens", 4, "--limit", 2).out)
    assert found["updates"] == found["schedules"][3]["updates"] in (2, 3)
    assert [(one["schedule"], one["pairs"]) for one in found["schedules"]] == [
        ("first", 3),
        ("sample_one", 3),
        ("uniform", 5),
        ("shuffle", 5),
    ]


# -- what is refused ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--schedule", "shufle"], '--schedule is "shufle"; did you mean shuffle? choose one of first, sample-one'),
        (["--epoch", "-1"], "--epoch is -1; give a whole number from 0 to less than 2^62"),
        (["--epochs", "0"], "--epochs is 0; give a whole number from 1 to less than 2^31"),
        (["--start", "7"], "--start is 7, but an epoch has 7 pairs; give less, or go on with --epoch 1"),
        (["--start", "3", "--rank", "1", "--ranks", "3"], "--start is 3, but this share of an epoch has fewer pairs"),
        (["--limit", "0"], "--limit is 0; give a whole number from 1 to less than 2^31"),
        (
            ["--limit", "2", "--gold-only"],
            "does not cut gold references; leave it out, or leave --gold-only out",
        ),
        (["--limit", str(2**63)], "--limit is 9223372036854775808; give a whole number from 1 to less than 2^31"),
        (["--gold-only", "--gold-share", "0.5"], "--gold-share has no effect with --gold-only; leave one of them out"),
        (
            ["--weights", "bleu"],
            "--weights has no effect where nothing is drawn; choose the schedule sample-one, or set",
        ),
        (
            ["--draw", "--weight-power", "2"],
            "--weight-power has no effect without --weights; add that, or leave it out",
        ),
        (
            ["--draw", "--weights", "crossings"],
            "weights by crossings need that judgement, and not every pseudo-reference",
        ),
        (["--gold-share", "2"], "--gold-share is 2.0; give a number from 0 to 1"),
        (["--schedule", "first", "--gold-share", "0.5"], "has no effect with first, which draws nothing; leave"),
        (["--schedule", "first", "--draw"], "draw belongs to shuffle"),
        (["--order", "shuffled"], "--order is shuffled, but shuffle orders its pairs itself; leave it out"),
        (["--seed", str(2**63)], "--seed is 9223372036854775808; give a whole number from -2^63 to less than 2^63"),
        (["--start", "-1"], "--start is -1; give a whole number from 0 to less than 2^62"),
        (["--rank", "1"], "--rank is 1, but --ranks is 1; give less, as ranks are counted from 0"),
        (["--ranks", str(2**63)], "--ranks is 9223372036854775808; give a whole number from 1 to less than 2^31"),
        (["--epochs", str(10**22), "-o", "x.{epoch}.tsv"], "from 1 to less than 2^31"),
        (["--epochs", str(10**22), "--count"], "from 1 to less than 2^31"),
        (["--epoch", str(2**62)], "--epoch is 4611686018427387904; give a whole number from 0 to less than 2^62"),
        (["--count", "-o", "pairs.tsv"], "--output has no effect with --count, which writes no pairs; leave it out"),
        (["--count", "--start", "1"], "--start has no effect with --count"),
        (["--count", "--ranks", "2"], "--ranks has no effect with --count"),
        (["--count", "--format", "jsonl"], "--format has no effect with --count"),
        (["--languages", "de,en"], "--languages has no effect without --format parallel; add that"),
        (["-o", "pairs.parquet"], "the name does not tell how pairs are written; give --format"),
        (["--rank", "0", "--ranks", "0"], "--ranks is 0; give a whole number from 1 to less than 2^31"),
        (["--fresh", "2"], "the file has not kept them for every example; expand it anew with --keep-lattice"),
        (["--fresh", "0"], "--fresh is 0; give a whole number from 1 to 10,000"),
        (["--fresh", "2", "--limit", "2"], "--limit does not go with fresh paths, which have a number of their own"),
        (["--fresh", "2", "--gold-only"], "--gold-only does not go with fresh paths"),
        (["--fresh-by", "rank"], "--fresh-by has no effect without --fresh; add that, or leave it out"),
        (["--min-bleu", "9"], "--min-bleu has no effect without --fresh; add that, or leave it out"),
        (["--fluency", "0.1"], "--fluency has no effect without --fresh; add that, or leave it out"),
        (["--language-model", "english"], "--language-model has no effect without --fresh and --fluency; add"),
        (["--fresh", "2", "--language-model", "english"], "--language-model has no effect without --fresh and"),
        (["--format", "parallel"], "parallel text is two files; give -o NAME"),
        (["--format", "parallel", "-o", "x", "--languages", "de"], 'is "de"; give two different names, such as de,en'),
        (["--format", "parallel", "-o", "x", "--languages", "de,de"], "give two different names"),
        (["--format", "parallel", "-o", "x", "--languages", "../a,b"], "give two different names"),
        (["--format", "coco", "--epochs", "2", "-o", "x.json"], "a coco file holds one epoch; put {epoch} into"),
        (["--format", "coco", "--start", "2", "-o", "x.json"], "a coco file holds a whole epoch"),
        (["--format", "coco", "--rank", "3", "-o", "x.json"], "--rank is 3, but --ranks is 1"),
        (["--format", "karpathy", "--schedule", "first", "--order", "shuffled", "-o", "x.json"], "has its own order"),
        (["--format", "coco", "--draw", "-o", "x.json"], "a file of examples holds each reference once"),
        (["--batch-pairs", "3"], "--batch-pairs has no effect without --count; add that, or leave it out"),
        (["--batch-tokens", "3"], "--batch-tokens has no effect without --count; add that, or leave it out"),
        (["--count", "--batch-pairs", "0"], "--batch-pairs is 0; give a whole number, 1 or more"),
        (["-o", "data.jsonl"], "this is the input file; choose another name for the output"),
        (["-o", "nowhere/out.tsv"], "cannot be written (there is no folder "),
        (["-o", "."], "this is a folder"),
        (["--format", "parallel", "-o", "data", "--languages", "jsonl,en"], "this is the input file"),
        (["--index", "data.jsonl"], "data.jsonl: cannot be written ("),
        (["--index", ""], "--index has no name; name a folder, or leave it out"),
    ],
)
def test_what_makes_no_sense_is_refused(options, says, run, file, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    assert_refused(run("stream", "data.jsonl", *options), says)
    assert names(tmp_path) == ["data.jsonl"]


def test_a_file_that_has_changed_is_streamed_as_it_is_now(run, file):
    assert len(run("stream", file).out.splitlines()) == 7
    write(file, RECORDS[:2])
    assert len(table(run("stream", file).out)) == 4


def test_pairs_that_have_no_rejected_side_are_not_counted(run, indexes, tmp_path: Path):
    write_examples(sample_examples()[:12], tmp_path / "gold.jsonl")
    run("expand", tmp_path / "gold.jsonl", "--keep-lattice", "-k", 6, "-o", tmp_path / "kept.jsonl")
    done = run("stream", tmp_path / "kept.jsonl", "--format", "preference", "-o", tmp_path / "pairs.jsonl", "--json")
    written = (tmp_path / "pairs.jsonl").read_bytes().count(b"\n")
    assert json.loads(done.out)["pairs"] == written > 0
    assert "pairs not written: their lattices have no sentence that the rules leave out" in done.err


def test_a_start_at_the_end_of_an_epoch_goes_on_in_the_next(run, file, tmp_path: Path):
    assert run("stream", file, "--start", 7, "--epochs", 2).out == run("stream", file, "--epoch", 1).out
    done = run("stream", file, "--start", 7, "--epochs", 2, "-o", tmp_path / "end-{epoch}.tsv")
    assert done.out.startswith(b"7 pairs in ")
    assert run("stream", file, "--start", 3, "--epochs", 2, "-o", tmp_path / "x").out.startswith(b"11 pairs in ")
    assert [path.name for path in tmp_path.glob("end-*")] == ["end-1.tsv"]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "the file is empty"),
        ('{"source": "s", "references": []}\n', ':1: "references" is empty; give at least one'),
        ('{"source": "s", "references": ["r"]}\n{"source": "s", "references": [" "]}\n', ":2: reference 1 is blank"),
        ('{"id": 1, "source": 1, "references": ["r"]}\n' * 2, ':2: the id "1" comes twice (first on line 1)'),
        ("{\n", ":1: broken JSON"),
    ],
)
def test_a_file_with_a_fault_is_refused_and_leaves_no_index(content, says, run, tmp_path: Path, indexes):
    path = tmp_path / "data.jsonl"
    path.write_text(content)
    assert_refused(run("stream", path, "-o", tmp_path / "out.tsv"), says)
    assert names(tmp_path) == ["data.jsonl"]
    assert names(indexes) == []
    assert_refused(run("stream", "-", stdin=content.encode()), says.partition(" (")[0])


def test_a_file_that_is_not_there_is_refused(run, tmp_path: Path, indexes):
    assert_refused(run("stream", tmp_path / "nothing.jsonl"), "there is no such file; check the path")
    assert_refused(run("stream", tmp_path), "there are no files in this folder; name another one")


def test_fresh_paths_are_other_ones_in_each_epoch(run, tmp_path: Path, indexes):
    (tmp_path / "captions.jsonl").write_text(caption_lines(5))
    done = run("expand", tmp_path / "captions.jsonl", "-o", tmp_path / "kept.jsonl", "-k", 5, "--keep-lattice")
    assert done.code == 0, done.err
    options = ["--schedule", "uniform", "--fresh", 2, "--min-bleu", 0, "--format", "jsonl"]
    epochs = [run("stream", tmp_path / "kept.jsonl", *options, "--epoch", epoch).out for epoch in range(3)]
    assert len(set(epochs)) == 3
    assert run("stream", tmp_path / "kept.jsonl", *options, "--epochs", 3).out == b"".join(epochs)
    pairs = list(map(json.loads, epochs[0].splitlines()))
    assert sum(pair["gold"] for pair in pairs) == 15
    assert any("bleu" in pair for pair in pairs)
    rest = run("stream", tmp_path / "kept.jsonl", *options, "--start", 4).out
    assert rest == b"".join(epochs[0].splitlines(True)[4:])
    by_rank = run("stream", tmp_path / "kept.jsonl", *options, "--fresh-by", "rank").out
    assert by_rank.count(b"\n") == len(pairs)
    # Expanded without lattices, or by a lattice of which some are not kept.
    run("expand", tmp_path / "captions.jsonl", "-o", tmp_path / "plain.jsonl", "-k", 5)
    refused = run("stream", tmp_path / "plain.jsonl", *options)
    assert_refused(refused, f"{tmp_path / 'plain.jsonl'}: fresh paths need the lattices")


def test_fresh_paths_that_are_repeated_are_counted(run, tmp_path: Path, indexes):
    references = (["a cat sleeps here", "the cat is asleep here"], ["two dogs run", "dogs run along the beach"])
    records = [{"source": n, "references": texts} for n, texts in enumerate(references)]
    path, kept = write(tmp_path / "captions.jsonl", records), tmp_path / "kept.jsonl"
    run("expand", path, "--keep-lattice", "-o", kept)
    few = run("stream", kept, "--fresh", 5, "--min-bleu", 100)
    assert few.code == 0
    assert "2 times an example had fewer than 5 fresh paths that pass, and they are repeated" in few.err
    assert run("stream", kept, "--fresh", 1, "--min-bleu", 0).err == ""


# -- pipes and signals ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lines", [0, 1])
@pytest.mark.parametrize("options", [[], ["--format", "jsonl"], ["-o", "/dev/stdout"]])
def test_a_reader_that_goes_away_ends_the_run_quietly(options, lines, start, tmp_path: Path, indexes):
    path = tmp_path / "captions.jsonl"
    path.write_text(caption_lines(100))
    process = start("stream", path, "--epochs", 1000, *options)  # the result does not fit into a pipe
    read = [process.stdout.readline() for _ in range(lines)]
    process.stdout.close()
    assert process.wait(LONGEST_WAIT) == 0
    assert process.stderr.read() == b""
    assert all(read)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["Ctrl-C", "TERM"])
def test_a_run_that_is_stopped_leaves_no_half_file(number, code, start, tmp_path: Path, indexes):
    path = tmp_path / "captions.jsonl"
    path.write_text(caption_lines(100))
    process = start("stream", path, "--epochs", 10**9, "-o", tmp_path / "out.tsv")
    wait_for(lambda: len(names(tmp_path)) > 1)
    os.killpg(process.pid, number)
    assert process.wait(LONGEST_WAIT) == code
    assert b"Traceback" not in process.stderr.read()
    assert names(tmp_path) == ["captions.jsonl"]


def test_a_run_that_is_stopped_while_it_indexes_leaves_no_half_index(start, tmp_path: Path, indexes):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "data.src").write_text("one\n" * 10)
    # References from a pipe that stays empty: the index is never complete.
    process = start("stream", tmp_path / "data.src", tmp_path / "pipe", env={**os.environ, "TMPDIR": str(tmp_path)})
    wait_for(lambda: list(tmp_path.glob("polyref-*/references.bin")))
    os.killpg(process.pid, signal.SIGTERM)
    assert process.wait(LONGEST_WAIT) == 143
    assert names(tmp_path) == ["data.src", "pipe"]
    assert not indexes.exists()


def wait_for(is_so) -> None:
    last = time.monotonic() + LONGEST_WAIT
    while not is_so():
        assert time.monotonic() < last, "waited in vain"
        time.sleep(0.02)


@pytest.mark.parametrize("format", [name for name in FORMATS if name not in ("jsonl", "tsv")])
def test_the_name_of_another_data_format_does_not_tell_how_pairs_are_written(format, run, captions_file, monkeypatch):
    monkeypatch.setitem(FORMATS, format, replace(FORMATS[format], suffixes=(".new",)))
    done = run("stream", captions_file, "-o", "pairs.new.gz")
    assert done.code == 2
    assert "pairs.new.gz: the name does not tell how pairs are written; give --format" in done.err


def test_every_name_of_json_lines_gives_json_lines(run, captions_file, tmp_path: Path):
    for name in ("pairs.jsonl", "pairs.ndjson"):
        assert run("stream", captions_file, "-o", tmp_path / name).code == 0
        assert (tmp_path / name).read_bytes().startswith(b"{")
