"""The demo: what a newcomer sees first."""


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
    assert written.count("<section>") == written.count("<svg") == 64
    assert written.startswith("<!doctype html>")


def test_a_page_that_cannot_be_written_is_one_clear_line(run, tmp_path):
    done = run("demo", "--examples", 0, "-o", tmp_path / "no" / "demo.html")
    assert done.code == 2
    assert "cannot be written" in done.err
    assert "Traceback" not in done.err


def test_a_page_is_html(run, tmp_path):
    done = run("demo", "--examples", 0, "-o", tmp_path / "demo.svg")
    assert done.code == 2
    assert "end the name in .html" in done.err
