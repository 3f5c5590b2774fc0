"""What goes into a tender and what comes back: reports of a plan, and the offers of vendors."""
