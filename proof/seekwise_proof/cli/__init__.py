"""Commands that appear once this distribution is installed."""
