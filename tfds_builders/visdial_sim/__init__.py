"""A simulated world of images and dialogues with the schema of VisDial."""
