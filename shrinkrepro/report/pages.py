"""The templates of our HTML pages: values are escaped, and a name that a template lacks is an error of ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import jinja2


def template(name: str) -> jinja2.Template:
    """The template ``name``; jinja2 must be installed."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("shrinkrepro.report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    return environment.get_template(name)
