"""The tools that come with the program, one file each."""
