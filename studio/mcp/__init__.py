"""Tools that come from MCP servers. Empty until their issue is taken up."""
