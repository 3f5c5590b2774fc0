"""The page that computes in a browser."""
