"""Any OpenAI-compatible server as the policy."""
