"""The demo: what a newcomer sees first."""

import re

from polyref.cli.demo import _FAILURES


def test_the_demo_shows_references_and_new_sentences(run):
    done = run("demo", "--examples", 2, "--best", 1)
    out = done.out.decode()
    assert out.count(" references, ") == 2
    assert "   100.0  " in out


def test_the_demo_writes_a_page_with_every_lattice(run, tmp_path):
    page = tmp_path / "demo.html"
    done = run("demo", "--examples", 0, "-o", page)
    assert str(page) in done.out.decode()
    written = page.read_text("utf-8")
    assert written.count('<details class="one"') == written.count("<svg") == written.count('<a href="#n') == 64
    assert len(re.findall(r'<details class="one" [^>]* open>', written)) == 8
    assert re.findall(r"<label>(\w+) ", written) == ["task", "language"]
    assert written.startswith("<!doctype html>")


def test_failures_are_labelled_and_those_that_are_open_have_none(run, tmp_path):
    """A sentence that is in the list and no longer in the demo means: read the demo again."""
    page = tmp_path / "demo.html"
    run("demo", "--examples", 0, "-o", page)
    written = page.read_text("utf-8")
    assert written.count('class="failure"') == len(_FAILURES)
    assert 'class="failure"' not in "".join(written.split('<details class="one"')[1:9])
    shown = run("demo", "--examples", 64).out.decode()
    assert shown.count("  (failure)") == len(_FAILURES)


def test_a_page_that_cannot_be_written_is_one_clear_line(run, tmp_path):
    done = run("demo", "--examples", 0, "-o", tmp_path / "no" / "demo.html")
    assert done.code == 2
    assert "cannot be written" in done.err
    assert "Traceback" not in done.err


def test_a_page_is_html(run, tmp_path):
    done = run("demo", "--examples", 0, "-o", tmp_path / "demo.svg")
    assert done.code == 2
    assert "end the name in .html" in done.err
