"""Shipped evaluation protocols, one commented TOML file each; `evoenv.evaluation.protocol` reads them."""
