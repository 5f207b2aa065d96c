"""Features of images: the files that hold them, and making them with any image model in the ONNX format."""
