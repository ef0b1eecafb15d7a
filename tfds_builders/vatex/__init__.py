"""The VaTeX data set from the official caption and feature files."""
