"""What each provider refuses, with its own words, one module each."""
