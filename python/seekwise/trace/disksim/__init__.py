"""DiskSim's files: drive parameters (`.parv`, `.diskspecs`, `.model`, `.seek`) and traces of measured drives."""
