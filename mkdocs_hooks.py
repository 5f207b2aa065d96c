"""What the site has beside the pages of docs: pages made of other files, and a complete reference.

In:   files of the project, and the settings as they are declared in the code.
Out:  pages, links that lead to them, and a build that stops if the reference lacks a public name.
Not:  how the site looks and what is in it (mkdocs.yml).
"""

from __future__ import annotations

import os
import re
from dataclasses import MISSING, fields
from importlib import import_module
from pathlib import Path
from typing import Any

from griffe import Attribute, Docstring, Extension
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent
MADE_OF = {
    "README.md": "tour.md",
    "SECURITY.md": "security.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changes.md",
    "src/polyref/encode/english/README.md": "english.md",
}
LINK = re.compile(r"(?P<text>!?\[[^]]*\])\((?P<path>[^)#:\s]+)(?P<anchor>#[^)\s]*)?\)")


def on_config(config: Any) -> Any:
    """Put the pages of a folder in its place in the navigation, its README first."""
    for section in config.nav:
        if isinstance(section, dict):
            for title, folder in section.items():
                if isinstance(folder, str) and folder.endswith("/"):
                    pages = sorted(Path(config.docs_dir, folder).glob("*.md"), key=lambda page: page.name.lower())
                    pages.sort(key=lambda page: page.name != "README.md")
                    section[title] = [f"{folder}{page.name}" for page in pages]
    return config


def on_files(files: Files, *, config: Any) -> Files:
    for source, page in MADE_OF.items():
        files.append(File.generated(config, page, content=(ROOT / source).read_text("utf-8")))
    return files


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Files) -> str:
    uri = page.file.src_uri
    if uri == "api.md":
        _check_complete(markdown)
    sources = {made: source for source, made in MADE_OF.items()}
    origin = Path(sources.get(uri, f"docs/{uri}")).parent

    def relinked(found: re.Match[str]) -> str:
        """A link as the site needs it: to a page of the site, or, to any other file, its path as text."""
        target = os.path.normpath(origin / found["path"])
        if not (ROOT / target).exists():
            return found[0]
        if target not in MADE_OF and not target.startswith("docs/"):
            return f"{found['text'][1:-1]} (`{target}`)"
        target = MADE_OF.get(target, target.removeprefix("docs/"))
        return f"{found['text']}({os.path.relpath(target, Path(uri).parent)}{found['anchor'] or ''})"

    return LINK.sub(relinked, markdown)


def _check_complete(markdown: str) -> None:
    import polyref

    missing = set(polyref.__all__) - set(re.findall(r"^::: polyref\.(\w+)$", markdown, re.MULTILINE))
    if missing:
        raise PluginError(f"docs/api.md has no entry for: {', '.join(sorted(missing))}")


class SettingsHelp(Extension):
    """A field that is declared as a setting shows its default and its help, not the call that declares it."""

    def on_attribute_instance(self, *, attr: Attribute, **others: Any) -> None:
        if attr.parent is None or not re.match(r"(setting|required|part)\(", str(attr.value)):
            return
        try:
            group = getattr(import_module(attr.module.path), attr.parent.name)
        except ImportError:  # it needs an extra, and no public name does
            return
        (field,) = (field for field in fields(group) if field.name == attr.name)
        declared = field.metadata["declared"]
        attr.value = None if field.default is MISSING else repr(field.default)
        unset = f" None: {declared.unset}." if declared.unset else ""
        attr.docstring = Docstring((declared.help or "A group of settings.") + unset, parent=attr)
