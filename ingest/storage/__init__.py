"""The supply side: what storage systems can deliver, held against what a training job needs."""
