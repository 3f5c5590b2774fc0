"""Offers: the response form of an RFP workbook, read back and judged line by line."""
