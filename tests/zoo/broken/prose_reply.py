# expect: L1.syntax
# A chat reply was saved instead of the code that it talks about.
Sure! Here is an environment in which the solver has to find the median of a list.

The generator draws a list of integers from random.Random(seed), and the scorer compares
the answer with the true median. Let me know if you would like it to be harder!
