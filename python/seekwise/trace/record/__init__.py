"""Recording the block events of this machine into a trace file."""
