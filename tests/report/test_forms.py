"""A table as Markdown, CSV and LaTeX."""

from __future__ import annotations

from polyref.report.forms import Cell, Table, as_csv, as_latex, as_markdown

TABLE = Table(
    "scores",
    "Scores of 50 % & more.",
    [[Cell(""), Cell("BLEU", 2)], [Cell("Method"), Cell("hard"), Cell("soft")]],
    [
        [Cell("a_b|c*"), Cell("20.00 ± 0.10", 2, bold=True)],
        [Cell("a_b|c*"), Cell(""), Cell("−1")],
        [Cell("other"), Cell("1", bold=True), Cell("2")],
    ],
    1,
    [{"method": "a,b", "mean": 20.123456789, "seeds": 3, "deviation": None}],
    ["*Baseline."],
    [2],
    ["BLEU: nrefs:5|case:lc"],
)


def test_markdown_has_one_row_of_titles_and_says_what_spans():
    assert as_markdown(TABLE).splitlines() == [
        "| Method | BLEU, hard | BLEU, soft |",
        "| --- | ---: | ---: |",
        r"| a\_b\|c\* | **20.00 ± 0.10** | ← |",
        r"| a\_b\|c\* |  | −1 |",
        "| other | **1** | 2 |",
        "",
        r"\*Baseline.",
        "",
        r"BLEU: nrefs:5\|case:lc",
    ]


def test_csv_has_one_line_per_number():
    assert as_csv(TABLE) == 'method,mean,seeds,deviation\n"a,b",20.1235,3,\n'


def test_latex_has_spans_rules_and_a_caption():
    assert as_latex(TABLE, "scores").splitlines() == [
        r"% needs \usepackage{booktabs}",
        "% BLEU: nrefs:5|case:lc",
        r"\begin{table}[tb]",
        r"\centering\small",
        r"\begin{tabular}{lrr}",
        r"\toprule",
        r" & \multicolumn{2}{c}{BLEU} \\",
        r"\cmidrule(lr){2-3}",
        r"Method & hard & soft \\",
        r"\midrule",
        r"a\_b\textbar{}c* & \multicolumn{2}{c}{\textbf{20.00 $\pm$ 0.10}} \\",
        r" &  & $-$1 \\",
        r"\midrule",
        r"other & \textbf{1} & 2 \\",
        r"\bottomrule",
        r"\end{tabular}",
        r"\caption{Scores of 50 \% \& more. *Baseline.}",
        r"\label{tab:scores}",
        r"\end{table}",
    ]


def test_a_table_without_numbers_is_an_empty_file():
    assert as_csv(Table("t", "", [[Cell("a")]], [], 1, [])) == ""


def test_a_wide_table_goes_over_both_columns_of_a_page():
    wide = Table("t", "", [[Cell(str(n)) for n in range(9)]], [], 1, [])
    assert r"\begin{table*}[tb]" in as_latex(wide, "t")
