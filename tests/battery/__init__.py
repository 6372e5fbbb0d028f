"""Programs whose answer is known by the way they are made, which a proof must not overlook.

``channels/CLASS.toml``: ways to store to memory or to load from it. ``lives/TOPIC.toml``: whole programs about lifetimes,
endings, loops with hidden state and nondeterminism. ``python -m battery`` checks all of them and prints the table.
"""
