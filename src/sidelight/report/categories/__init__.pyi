from ._page import render_categories as render_categories
