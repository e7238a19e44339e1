"""The stages of an iteration, one module each. Each continues where a stopped run left it and returns what the
store holds, so that a resumed run and an undisturbed one cannot differ."""
