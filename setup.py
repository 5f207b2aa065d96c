"""The README as a package index can show it: there, links to other files of the project lead nowhere."""

import re
from pathlib import Path

ELSEWHERE = "The pages that are named here are in the folder `docs` of the source distribution."


def for_an_index(readme: str) -> str:
    """A link to a file becomes its text, a picture what it shows."""
    readme = re.sub(r"!\[([^]]*)\]\((?!https?:)[^)]*\)", r"*Picture: \1.*", readme)
    readme = re.sub(r"\[([^]]*)\]\((?!https?:)[^)]*\)", r"\1", readme)
    return f"{readme}\n{ELSEWHERE}\n"


if __name__ == "__main__":
    from setuptools import setup

    setup(
        long_description=for_an_index(Path(__file__).with_name("README.md").read_text("utf-8")),
        long_description_content_type="text/markdown",
    )
