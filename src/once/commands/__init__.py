"""One file a verb: its options, its help with an example, the call, and what it returns for the renderer."""
