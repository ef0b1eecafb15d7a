"""What a caption corpus is like, and what is wrong with it: statistics and quality rules."""
