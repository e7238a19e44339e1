"""Model-written code is hostile code: run it in processes that the kernel confines. The front door is `host.py`.

Nothing is imported here: the contract's base class lives in `guest/`, and `import evoenv` must stay cheap.
"""
