"""What is wrong with a file of any format is said with its name, the line or row, and the cure."""

from pathlib import Path

import pytest
from malformed_formats import MALFORMED_FILES, MalformedFiles, each_files

from polyref.data import read
from polyref.errors import InputError


@each_files(MALFORMED_FILES)
def test_a_malformed_file_of_any_format_is_refused_with_its_name_and_line(case: MalformedFiles, tmp_path: Path):
    path = case.write(tmp_path)
    with pytest.raises(InputError) as refused:
        list(read(path, **case.options))
    assert str(refused.value).startswith(case.place(path))
    assert case.says in str(refused.value)
    assert refused.value.cure


def test_a_file_is_told_by_its_content_before_it_is_found_wrong(tmp_path: Path):
    for case in MALFORMED_FILES:
        if "captions.json" in case.files:
            (tmp_path / "no suffix").write_bytes(case.files["captions.json"])
            with pytest.raises(InputError) as refused:
                list(read(tmp_path / "no suffix"))
            assert case.says in str(refused.value), case.name
