"""The policy on this machine: transformers' models, our own decoding, optional training.

    prompts   chat messages -> token ids, and every check that must come before work
    draft     one response while it is being written: stop strings, limits, its own random stream
    draw      logits -> tokens and log-probabilities
    kv        keys and values of the rows being decoded, and the attention that reads them
    lean      one decoding step of a small model in few calls
    selfcheck whether these give the plain model's numbers, asked of the model at hand
    packed    frozen weights, rearranged once for faster products
    decode    the scheduler: prefill once per prompt, decode live rows only, inside a token budget
    plain     the slow sure way, for architectures that `kv` cannot serve
    sampling  a session: requests join the batch that is being decoded
    policy    LocalPolicy, the Policy port

Import from the submodules: this file stays free of torch.
"""
