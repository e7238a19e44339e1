"""The parts that programs are composed of: computations, instances, answer forms, families."""
