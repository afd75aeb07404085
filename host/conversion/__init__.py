"""The steps of ``arenite convert``; ``conversion/convert.py`` joins them."""
