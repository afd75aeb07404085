"""Contains the steps of ``arenite convert``. ``conversion/convert.py`` runs them in order."""
