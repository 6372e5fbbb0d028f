"""Verification with unbounded store buffers: the engines of ``core/symbolic``, certificates, and fence insertion."""
