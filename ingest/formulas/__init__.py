"""PHYSICS: pure one-expression functions, a module for each field.

The registry imports them as their names are asked for; nobody else has to.
"""
