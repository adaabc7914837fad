"""A fit, from what ``fit`` was given to fitted attributes."""
