"""Histories from the world: this machine's processors, simulated multiprocessors, databases.

Each source gives ``Recorded`` runs of random clients, one by one, for as long as somebody asks for the next; a
``Recording`` is the file that takes them.
"""

from teetotal.record.clients import Client, Recorded, Shape
from teetotal.record.processors import available, hardware
from teetotal.record.recording import Recording
from teetotal.record.simulation import BUGS, NEED_BUFFERS, PROTOCOLS, Machine, simulate
from teetotal.record.stress import stress

__all__ = [
    "BUGS",
    "NEED_BUFFERS",
    "PROTOCOLS",
    "Client",
    "Machine",
    "Recorded",
    "Recording",
    "Shape",
    "available",
    "hardware",
    "simulate",
    "stress",
]
