"""The fewest fences that make a program robust or safe, and the patch that writes them into its source."""
