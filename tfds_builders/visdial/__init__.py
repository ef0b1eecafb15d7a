"""The VisDial data set from the official dialogue and annotation files."""
