"""How good any plan could be: upper bounds, and certificates in words."""
