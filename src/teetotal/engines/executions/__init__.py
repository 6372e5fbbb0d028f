"""SC executions one by one, as a strategy chooses them, and the monitors that watch them. The work is done in the core."""
