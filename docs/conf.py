"""Sphinx settings."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from generate import write_includes

import sidelight

write_includes()

project = "Sidelight"
author = "The Sidelight developers"
copyright = "2026, the Sidelight developers"
version = release = sidelight.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "formulas",
    "numpydoc",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "myst_parser",
]
exclude_patterns = ["_build", "examples", "results"]
templates_path = ["_templates"]
html_static_path = ["_static"]
html_css_files = ["sidelight.css"]
html_math_renderer = "mathml"  # drawn by the browser: the pages read without a network
smartquotes = False  # "--method" and quotes are copied into terminals
html_theme = "pydata_sphinx_theme"
html_title = "Sidelight"
html_sidebars = {"index": [], "choose/index": [], "methods": []}  # which need the room
html_theme_options = {
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 6,
    "secondary_sidebar_items": ["page-toc"],
}
autosummary_generate = True
numpydoc_show_class_members = False
autodoc_typehints = "none"

sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"/plot_",
    "show_memory": False,
    "download_all_examples": False,
    "plot_gallery": True,
    "abort_on_example_error": False,  # the others run, and the build fails at its end
    "reset_modules": (),
    "min_reported_time": 5,
    "write_computation_times": False,  # a page that would fetch scripts
}
