"""Workbooks with live formulas: each takes results and their derivations, none computes."""
