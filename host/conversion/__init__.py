"""The steps of ``arenite convert``. ``conversion/convert.py`` runs them."""
