"""Show and record what an application sends: samples, scores, events and health."""
