"""Pictures as SVG, colored by the style sheet of the page that holds them."""
