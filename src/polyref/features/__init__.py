"""Images to vectors: feature files (features.py), and making them: images.py finds and reads images, extraction.py runs
an image model over them."""
