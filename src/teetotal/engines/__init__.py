"""From a program to findings. ``states`` explores each model's own states, ``executions`` SC executions under monitors,
``runtime`` the executions of C programs, ``symbolic`` store buffers without bound. Engines know no file and no terminal."""
