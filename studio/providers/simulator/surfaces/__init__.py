"""The five wire protocols the simulator speaks, one module each."""
