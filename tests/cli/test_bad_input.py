"""What a person can mend: exit code 2, one line that says where, and nothing left behind."""

from pathlib import Path

import pytest
from malformed import MALFORMED, MALFORMED_TABLES, Malformed
from samples import Families

from polyref.encode import unrelated_sentences


def case_file(name: str) -> Malformed:
    [case] = [case for case in MALFORMED if case.name == name]
    return case


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def option_name(value: str | list[str]) -> str:
    """How a case with these options is called."""
    return " ".join(value) if isinstance(value, list) else ""


def assert_refused(done, says: str) -> None:
    """Exit code 2, and exactly one line that holds what it must."""
    assert done.code == 2, done.err
    assert done.out == b""
    assert done.err.startswith("polyref: ")
    assert done.err.endswith("\n")
    assert done.err.count("\n") == 1
    assert says in done.err


READING = {
    "expand": ["FILE", "-o", "out.jsonl"],
    "lattice": ["FILE", "--id", "nobody"],  # so that nothing is shown before the fault
    "align": ["FILE", "--id", "nobody"],
    "convert": ["FILE", "out.jsonl"],
    "convert to a table": ["FILE", "out.parquet"],
    "stats": ["FILE"],
    "stream": ["FILE", "-o", "out.tsv"],
    "score": ["hypotheses.txt", "FILE"],
    "subwords learn": ["FILE", "-o", "subwords.json", "--size", "300"],
    "encoder train": ["FILE", "-o", "encoder"],
}


@pytest.mark.parametrize("verb", READING)
def test_every_verb_refuses_a_malformed_file_in_one_line_and_leaves_nothing(
    verb, run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    Path("hypotheses.txt").write_text("a cat\n")
    before = [case_file("broken JSON").write(tmp_path), "hypotheses.txt"]
    arguments = [before[0] if argument == "FILE" else argument for argument in READING[verb]]
    done = run(*verb.removesuffix(" to a table").split(), *arguments)
    assert_refused(done, f"polyref: {before[0]}:2: broken JSON: Expecting ',' delimiter at column")
    assert names(tmp_path) == sorted(Path(name).name for name in before)


@pytest.mark.parametrize("verb", ["expand", "lattice"])
def test_a_limit_of_the_length_of_lines_is_an_option(verb, run, tmp_path: Path):
    case = case_file("a line over the limit")
    done = run(verb, case.write(tmp_path), "--max-line-bytes", case.max_line_bytes)
    assert case.says in done.err
    assert done.code == 2


@pytest.mark.parametrize("verb", ["expand", "lattice"])
def test_a_malformed_table_of_vectors_is_refused(verb, run, captions_file, tmp_path: Path):
    [case] = [case for case in MALFORMED_TABLES if case.name == "too few numbers"]
    path = case.write(tmp_path)
    output = ["-o", tmp_path / "out.jsonl"] if verb == "expand" else []
    done = run(verb, captions_file, "--align", "soft", "--encoder", f"vectors:{path}", *output)
    assert_refused(done, f"polyref: {case.place(path)}{case.says}")
    assert names(tmp_path) == sorted([captions_file.name, case.file])


@pytest.mark.parametrize("name", ["deep nesting", "a truncated .gz"])
def test_a_process_of_its_own_says_the_same_as_its_only_line(name, run_apart, tmp_path: Path):
    case = case_file(name)
    path = case.write(tmp_path)
    done = run_apart("expand", path, "-o", tmp_path / "out.jsonl")
    assert_refused(done, f"polyref: {case.place(path)}{case.says}")
    assert names(tmp_path) == [case.file]


SOFT = ["--align", "soft"]
ADAPTIVE = [*SOFT, "--penalty", "adaptive"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ([*SOFT, "--encoder", "glove"], 'there is no encoder "glove"; give english, the folder of one'),
        ([*SOFT, "--encoder", "vectors:"], 'there is no encoder "vectors:"'),
        ([*SOFT, "--encoder", "vectors:nowhere.npz"], "nowhere.npz: there is no such file"),
        (["--encoder", "english"], "--encoder has no effect without --align soft; add that, or leave it out"),
        ([*SOFT, "--similarity", "cosine", "--baseline", "0.1"], "leave it out, or set --similarity to rescaled"),
        ([*SOFT, "--baseline", "1"], "--baseline is 1.0; give a number above -1 and below 1"),
        ([*SOFT, "--penalty", "abc"], '--penalty is "abc"; give a number from 0 to 1, or adaptive'),
        ([*SOFT, "--penalty", "1.5"], "--penalty is 1.5; give a number from 0 to 1"),
        ([*SOFT, "--penalty", "nan"], "--penalty is nan"),
        ([*SOFT, "--veto", "negations"], '--veto holds "negations"; did you mean negation? give a list'),
        ([*SOFT, "--veto", "numbers,none"], "marks, contrasts, with commas between them, or none alone"),
        ([*SOFT, "--veto", ""], '--veto is ""; give a list with any of numbers, negation, marks, contrasts'),
        ([*SOFT, "--position", "1.5"], "--position is 1.5; give a number from 0 to 1"),
        ([*SOFT, "--position", "nan"], "--position is nan"),
        ([*SOFT, "--penalty-start", "0.5"], "--penalty-start has no effect without --penalty adaptive; add that"),
        ([*SOFT, "--penalty", "0.5", "--at-least", "5"], "--at-least has no effect without --penalty adaptive"),
        ([*ADAPTIVE, "--penalty-start", "0.2"], "--penalty-floor is 0.3, above the --penalty-start of 0.2; swap"),
        ([*ADAPTIVE, "--penalty-step", "0"], "--penalty-step is 0.0; give a number from 0.0001 to 1"),
        ([*ADAPTIVE, "--penalty-step", "nan"], "--penalty-step is nan"),
        ([*ADAPTIVE, "--at-least", "0"], "--at-least is 0; give a whole number, 1 or more"),
        (["--min-bleu", "101"], "--min-bleu is 101.0; give a number from 0 to 100"),
        (["--node-budget", "0"], "--node-budget is 0; give a whole number from 1 to less than 2^62"),
        (["--seed", str(2**63)], "--seed is 9223372036854775808; give a whole number from -2^63 to less than 2^63"),
        (["--max-line-bytes", "0"], "--max-line-bytes is 0; give a whole number from 1 to 2^40"),
        (["--max-line-bytes", "-1"], "--max-line-bytes is -1"),
        (["--id-field", "references"], '--id-field is "references", and so is another field; name three different'),
        (["--references-field", "lattice"], '--references-field is "lattice", which is kept for the result; choose'),
        (["--references-field", "captions"], 'captions.jsonl:1: "captions" is missing; add it, or name another key'),
    ],
    ids=option_name,
)
def test_an_option_that_makes_no_sense_is_refused(options, says, run, captions_file):
    assert_refused(run("expand", captions_file, *options, "-o", captions_file.with_name("out.jsonl")), says)
    assert names(captions_file.parent) == [captions_file.name]


@pytest.mark.parametrize(
    ("verb", "options", "says"),
    [
        ("expand", ["--workers", "0"], "--workers is 0; give a whole number from 1 to 1,024"),
        ("expand", ["-k", "0"], "--per-example is 0; give a whole number, 1 or more"),
        ("expand", ["--per-example", "-3"], "--per-example is -3"),
        ("expand", ["-k", "10001"], "--per-example is 10,001, above the tie limit of 10,000; ask for fewer"),
        ("expand", ["-k", "5000", "--shortfall", "fail"], 'captions.jsonl:1: the example "example 0" gives'),
        (
            "expand",
            ["-o", "nowhere/out.jsonl"],
            "nowhere/out.jsonl: cannot be written (there is no folder ",
        ),
        ("expand", ["-o", "."], ".: holds other files (captions.jsonl); choose a folder that is new or empty"),
        (
            "lattice",
            ["--id", "nobody"],
            'captions.jsonl: there is no example with the id "nobody"; check the id; the first one is "',
        ),
        ("lattice", [*SOFT, "--penalty", "1.5"], "--penalty is 1.5; give a number from 0 to 1"),
        ("lattice", ["--node-budget", "0"], "--node-budget is 0; give a whole number"),
        ("align", [*SOFT, "--veto", "negations"], '--veto holds "negations"; did you mean negation?'),
        ("lattice", ["--list", "-1"], "--list is -1; give a whole number from 0 to 10,000"),
        ("lattice", ["--sample", "-1"], "--sample is -1; give a whole number from 0 to 10,000"),
        ("lattice", ["--best", "-1"], "--best is -1; give a whole number from 0 to 10,000"),
        ("lattice", ["--score", "nowhere.txt"], "nowhere.txt: there is no such file"),
    ],
    ids=option_name,
)
def test_an_option_of_one_verb_that_makes_no_sense_is_refused(
    verb, options, says, run, captions_file, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(captions_file.parent)
    assert_refused(run(verb, captions_file.name, *options), says)
    assert names(captions_file.parent) == [captions_file.name]


@pytest.mark.parametrize("name", ["captions.jsonl", "./captions.jsonl", "link.jsonl"])
def test_the_output_cannot_be_the_input(name, run, captions_file, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(captions_file.parent)
    Path("link.jsonl").symlink_to("captions.jsonl")
    before = captions_file.read_bytes()
    assert_refused(run("expand", "captions.jsonl", "-o", name), f"{name}: this is the input file; choose another")
    assert captions_file.read_bytes() == before


@pytest.mark.parametrize("verb", ["expand", "lattice"])
@pytest.mark.parametrize(
    ("name", "says"), [("nothing.jsonl", "there is no such file"), (".", "there are no files in this folder")]
)
def test_an_input_that_is_no_file_is_refused(verb, name, says, run, tmp_path: Path):
    path = tmp_path / name
    assert_refused(run(verb, path), f"polyref: {path}: {says}")


@pytest.mark.parametrize("verb", ["expand", "lattice"])
def test_an_example_with_too_many_words_is_refused_by_file_and_line(verb, run, tmp_path: Path):
    path = tmp_path / "examples.jsonl"
    path.write_text(f'\n{{"source": 1, "references": ["{"word " * 6000}", "{"other " * 6000}"]}}\n')
    assert_refused(run(verb, path), f"polyref: {path}:2: the references of one example have 12,000 words; split them")


@pytest.mark.parametrize("verb", ["expand", "lattice"])
def test_standard_input_has_a_name_too(verb, run):
    assert_refused(run(verb, "-", stdin=b"{"), "polyref: <stdin>:1: broken JSON")
    assert_refused(run(verb, "-"), "polyref: <stdin>: the file is empty")


def test_an_id_that_standard_input_lacks_is_refused_under_the_same_name(run, captions_file):
    done = run("lattice", "-", "--id", "nobody", stdin=captions_file.read_bytes())
    assert_refused(done, 'polyref: <stdin>: there is no example with the id "nobody"')


def test_a_file_of_sentences_that_is_empty_is_refused_as_such(run, captions_file, tmp_path: Path):
    sentences = tmp_path / "sentences.txt"
    sentences.write_text("")
    done = run("lattice", captions_file, "--score", sentences)
    assert_refused(done, f"{sentences}: the file is empty")
    assert "JSON" not in done.err


def test_a_file_of_sentences_that_is_not_utf8_is_refused(run, captions_file, tmp_path: Path):
    sentences = tmp_path / "sentences.txt"
    sentences.write_bytes(b"a cat\n\xff\n")
    assert_refused(run("lattice", captions_file, "--score", sentences), f"{sentences}:2: not UTF-8")


@pytest.mark.parametrize("id", ["two\\nlines", "red \\u001b[31m text"], ids=["newline", "escape"])
def test_a_message_is_one_printable_line_whatever_it_quotes(id, run, tmp_path: Path):
    path = tmp_path / "examples.jsonl"
    path.write_text(f'{{"id": "{id}", "source": 1, "references": ["a"]}}\n' * 2)
    done = run("expand", path)
    assert_refused(done, "comes twice (first on line 1)")
    assert done.err.rstrip("\n").isprintable()


def test_a_table_that_tells_no_words_apart_is_refused_where_it_would_be_rescaled(run, captions_file, tmp_path):
    words = sorted({word for sentence in unrelated_sentences() for word in sentence})
    encoder = Families([(1.0, " ".join(words))]).save(tmp_path / "flat.npz")
    assert_refused(run("expand", captions_file, "--align", "soft", "--encoder", encoder), "baseline")


def test_a_table_that_knows_too_few_words_is_refused_where_it_would_be_rescaled(run, captions_file, tmp_path):
    encoder = Families([(0.5, "xylophone zebra")]).save(tmp_path / "small.npz")
    done = run("expand", captions_file, "--align", "soft", "--encoder", encoder)
    assert_refused(done, "small.npz knows too few words of the sample text")


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        (["expand", "x", "--per-exampel", "8"], "no option --per-exampel; did you mean --per-example?"),
        (["expand", "x", "--soft"], "no option --soft; polyref expand -h lists them"),  # nothing is near enough
        (["expand", "x", "--zzz"], "no option --zzz; polyref expand -h lists them"),
        (["--zzz"], "no option --zzz; polyref -h lists them"),
        (["expand", "x", "-k", "eight"], '--per-example is "eight"; give a whole number, 1 or more'),
        (["expand", "x", "-k", "8.5"], '--per-example is "8.5"; give a whole number, 1 or more'),
        (["expand", "x", "--min-bleu", "all"], '--min-bleu is "all"; give a number from 0 to 100'),
        (["convert", "x", "y.jsonl", "--limit", "two"], "--limit is not a whole number; give one"),
        (["expand", "x", "-k"], "option '-k' requires an argument; polyref expand -h shows how"),
        (["expand"], "missing argument 'FILE'; polyref expand -h shows how"),
        (["expnd", "x"], "no such command 'expnd'. Did you mean 'expand'?"),
        (["encoder", "trian"], "no such command 'trian'. Did you mean 'train'?"),
        (["lattice", "a", "b"], "got unexpected extra argument(s) (b); polyref lattice -h shows how"),
    ],
    ids=option_name,
)
def test_a_mistyped_command_gets_one_line(typed, says, run):
    assert_refused(run(*typed), says)
