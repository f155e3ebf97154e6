"""Live view in the browser, recordings and plots."""
