"""PHYSICS: pure one-expression functions, a module for each field.

A command imports the fields that it needs; `ingest.formulas.everything` imports them all, and so does the solver when it
meets a name that nobody has registered yet.
"""
