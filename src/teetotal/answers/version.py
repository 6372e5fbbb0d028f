"""Of teetotal itself. The packager reads it here, and so does everything else: asking for metadata takes longer."""

VERSION = "0.1.0"
