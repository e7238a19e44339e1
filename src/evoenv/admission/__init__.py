"""From a validated candidate to its reward and its fate: review, calibration, novelty, reward, admission.

Everything here is pure: records in, values out. `stages/` does the sampling, the executing and the storing.
"""
