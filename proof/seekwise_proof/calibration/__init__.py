"""Studies whose truth is known, and what the rule makes of them: how often it errs, how much it finds."""
