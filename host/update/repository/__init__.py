"""Signed repositories of models, in the format of TUF (The Update Framework): publish, check and download."""
