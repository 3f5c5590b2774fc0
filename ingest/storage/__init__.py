"""Storage systems: ceilings, units required and the verdict on a need."""
