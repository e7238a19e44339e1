"""The standalone scorer that every export carries: `api.py` is what users import, `carry.py` writes it out."""
