"""The OpenAI-compatible server. Empty until its issue is taken up."""
