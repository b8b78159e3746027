"""How many people somebody brings: the fitted model, its families, fit and choice."""
