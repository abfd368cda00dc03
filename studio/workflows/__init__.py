"""Many agents, in markdown. Empty until its issue is taken up."""
