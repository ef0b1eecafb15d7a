"""What a caption corpus is like, and what is wrong with it: statistics, quality rules, reference assignment."""
