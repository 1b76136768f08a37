"""Generation: models that name concepts of instances, against references and human ratings."""
