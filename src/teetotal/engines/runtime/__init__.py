"""C programs under the runtime: ``driver`` loads a built object into ``teetotal-runtime`` (runtime/ in the source tree) and
reads its messages, ``events`` turns what happened into the vocabulary of ``answers``, ``checking`` answers."""
