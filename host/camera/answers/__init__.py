"""Read answers from a model's outputs: classes, boxes, points, masks and scores."""
